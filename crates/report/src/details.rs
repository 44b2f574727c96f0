//! What a report knows beside the comparison: the plan, the hosts, the readings over time.

use analysis::{Accounting, Comparison, Curve, RoleCost, RoleCurve, RoleTimes};
use model::{
    environment::Environment, explanation::Explanation, imported::ImportHeader, metric::Metric,
    notes::Notes, plan::Plan, record::TrialHeader, shared::Name,
};
use std::collections::{BTreeMap, BTreeSet};

/// Everything beside the comparison of one experiment. All of it may be missing: an imported
/// archive has neither plan nor trials.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    /// Run, by its identifier, or empty.
    pub run: String,
    /// Wall clock at the run's start, microseconds since 1970.
    pub started_us: Option<u64>,
    /// The plan that was executed.
    pub plan: Option<Plan>,
    /// The trials, oldest first.
    pub trials: Vec<Trial>,
    /// Where the time went by the run's own account, in seconds by activity; empty if it kept none.
    pub ledger: BTreeMap<String, f64>,
    /// Where the time went as far as slices tell.
    pub accounting: Option<Accounting>,
    /// Operations per second over the measured seconds.
    pub throughput: Vec<Curve>,
    /// Largest service time of each measured second [ms].
    pub stalls: Vec<Curve>,
    /// What each role did in each second, for workloads with roles.
    pub roles: Vec<RoleCurve>,
    /// What the tasks that serve each role did, where tasks were told apart.
    pub role_costs: Vec<RoleCost>,
    /// Response times of each role, for workloads with roles.
    pub role_times: Vec<RoleTimes>,
    /// Service times: nines against microseconds.
    pub latency: Vec<Curve>,
    /// Resident memory over the seconds of a trial [MiB].
    pub resident: Vec<Curve>,
    /// Address space over the seconds of a trial [MiB].
    pub addressed: Vec<Curve>,
    /// Slices that do not count, and why.
    pub left_out: Vec<LeftOut>,
    /// What the load engine costs by itself.
    pub overhead: Vec<Overhead>,
    /// Where the values come from, if they were imported.
    pub imported: Option<Provenance>,
    /// The one command that repeats the run, or empty.
    pub command: String,
    /// The option that names the results folder, with a blank before it; empty for the usual one.
    pub folder: String,
    /// The same values, each variant compared with the one before it.
    pub steps: Option<Comparison>,
    /// The same values compared with another base.
    pub second: Option<Comparison>,
    /// What people wrote about them.
    pub notes: Notes,
    /// Where the instructions of an operation are spent, by phase and pair of subjects.
    pub explanations: Vec<Explanation>,
    /// What the servers counted of themselves, phase by phase.
    pub counted: Vec<Counted>,
}

/// Counters that a server has of itself, over the measured slices of a phase.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counted {
    /// Phase of the plan.
    pub phase: String,
    /// Label of the subject.
    pub subject: String,
    /// How far each moved per operation, by `GROUP.NAME`.
    pub per_op: BTreeMap<String, f64>,
    /// What its processes fetched from storage and sent there, per operation.
    pub processes: Traffic,
    /// What the block device of its data folder did, per operation, for whomever.
    pub device: Traffic,
}

/// What was read and written; none of what is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Traffic {
    /// Requests to read.
    pub reads: Option<f64>,
    /// Read [KiB].
    pub read_kib: Option<f64>,
    /// Requests to write.
    pub writes: Option<f64>,
    /// Written [KiB].
    pub write_kib: Option<f64>,
}

impl Details {
    /// Leaves out what belongs to other subjects than these.
    pub fn keep(&mut self, subjects: &[String]) {
        let kept = |subject: &str| subjects.iter().any(|own| own == subject);
        self.trials.retain(|trial| kept(&trial.header.subject));
        let Self { throughput, stalls, latency, resident, addressed, .. } = self;
        for curves in [throughput, stalls, latency, resident, addressed] {
            curves.retain(|curve| kept(&curve.subject));
        }
        self.roles.retain(|role| kept(&role.rate.subject));
        self.role_costs.retain(|cost| kept(&cost.subject));
        self.role_times.retain(|times| kept(&times.subject));
        self.left_out.retain(|left| kept(&left.subject));
        self.counted.retain(|counted| kept(&counted.subject));
        self.explanations.retain(|one| one.sides.iter().all(|side| kept(&side.subject)));
        for more in [&mut self.steps, &mut self.second] {
            *more = more.take().map(|comparison| comparison.only(&kept));
        }
    }

    /// On how many hosts its trials ran.
    pub(crate) fn hosts(&self) -> usize {
        let hosts = self.trials.iter().map(|trial| trial.environment.host.as_str());
        hosts.collect::<BTreeSet<_>>().len()
    }

    /// Of these metrics alone: without curves and counters, which are of others.
    pub(crate) fn with_metrics(self, wanted: &[&Metric]) -> Self {
        let narrowed = |more: Option<Comparison>| Some(more?.with_metrics(wanted));
        Self {
            steps: narrowed(self.steps),
            second: narrowed(self.second),
            throughput: Vec::new(),
            stalls: Vec::new(),
            roles: Vec::new(),
            role_costs: Vec::new(),
            role_times: Vec::new(),
            latency: Vec::new(),
            resident: Vec::new(),
            addressed: Vec::new(),
            counted: Vec::new(),
            overhead: Vec::new(),
            ..self
        }
    }
}

/// Where imported values come from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Provenance {
    /// What the import was.
    pub header: ImportHeader,
    /// Number of values by the file that they were printed in.
    pub files: BTreeMap<Name, u64>,
}

/// One trial without its slices.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Its head.
    pub header: TrialHeader,
    /// The host during the trial.
    pub environment: Environment,
    /// What happened that readers may want to know, one sentence each.
    pub remarks: Vec<String>,
}

/// Slices of one kind that do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Label of the subject.
    pub subject: String,
    /// Phase.
    pub phase: String,
    /// Why, one line.
    pub reason: String,
    /// How many.
    pub slices: u64,
}

/// The cost of the load engine in one phase, as its null client has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Overhead {
    /// Phase.
    pub phase: String,
    /// User instructions per operation.
    pub user_instructions: Option<f64>,
    /// CPU time per operation [us].
    pub cpu_us: Option<f64>,
}
