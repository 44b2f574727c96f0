//! Where the instructions of an operation are spent, or its CPU time: one phase on a few subjects,
//! as an execution of its own.

use crate::{
    Error, Observer, Options, Progress, Stop,
    execute::{self, Look},
    explanation::{self, Agreed, Asked, Wanted},
    verify,
};
use dbms::Places;
use emulator::Emulator;
use model::{
    explanation::{Quantity, Side},
    plan::{PhaseKind, Plan},
};

/// What is explained.
#[derive(Debug, Clone, Copy)]
pub struct Explaining<'a> {
    /// The plan that a run executed.
    pub plan: &'a Plan,
    /// Name of the phase.
    pub phase: &'a str,
    /// Labels of the subjects.
    pub subjects: &'a [&'a str],
    /// What is attributed to functions.
    pub by: Quantity,
    /// Operations that are observed; a usual number, or fewer where they take long, if absent.
    pub operations: Option<u64>,
}

/// The sides of an explanation, and what found them.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// The emulator, or the clock.
    pub means: String,
    /// One per subject.
    pub sides: Vec<Side>,
}

/// What is said where all functions of the kernel are one without a name: no area is one of a
/// system call.
const NO_KERNEL_NAMES: &str = "the kernel does not tell the names of its functions, so that its \
    CPU time is in the areas of the server's functions that called it: run as root, or `sysctl \
    kernel.kptr_restrict=0`";

/// Loads the tables of a phase on each subject as the run did, starts it, under the emulator where
/// instructions are counted, warms it up, and observes. Nothing of it stays.
pub fn explain(
    what: &Explaining<'_>,
    places: &Places,
    options: &Options,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<Explained, Error> {
    // Before anything is installed.
    let means = match what.by {
        Quantity::Instructions => Emulator::find()?.about(),
        Quantity::CpuTime => {
            probe::CpuSamples::permitted().map_err(|error| {
                Error::Preflight(format!(
                    "CPU time cannot be sampled ({error}): run as root, or `sysctl \
                 kernel.perf_event_paranoid=0`"
                ))
            })?;
            if probe::KernelNames::read().is_empty() {
                observer.tell(&Progress::Warning(NO_KERNEL_NAMES));
            }
            "the CPU clock, 4,000 times per second of CPU time".to_owned()
        }
    };
    let plan = narrowed(what)?;
    // A template and a copy of each.
    let look = Look { plan: &plan, folders: 2 * plan.subjects.len() as u64 };
    let mut run = execute::without_records(&look, places, options, stop, observer)?;
    let agreed: Vec<Agreed> = plan.phases.iter().map(|_| Agreed::on(what.operations)).collect();
    let asked = plan.phases.iter().zip(&agreed).map(|(phase, agreed)| Asked { phase, agreed });
    let asked: Vec<Asked<'_>> = asked.collect();
    let wanted = (0..plan.subjects.len()).map(|subject| Wanted { subject, asked: asked.clone() });
    let found = explanation::sides(&mut run, wanted.collect(), what.by);
    let found = found.and_then(|found| found.into_iter().collect::<Result<Vec<_>, Error>>());
    let left = run.leave();
    let sides = found?.into_iter().flatten().map(|(_, side)| side).collect();
    left.map(|()| Explained { means, sides })
}

/// The plan with the subjects and the phase alone, and the tables that it uses.
fn narrowed(what: &Explaining<'_>) -> Result<Plan, Error> {
    let mut plan = verify::filled(what.plan);
    plan.phases.retain(|phase| phase.name == what.phase && phase.kind == PhaseKind::Measure);
    let Some(phase) = plan.phases.first() else {
        return Err(Error::Preflight(format!("the plan has no phase `{}`", what.phase)));
    };
    let schema = phase.script.schema.clone();
    plan.schemas.retain(|known| known.name == schema);
    let subjects = what
        .subjects
        .iter()
        .filter_map(|label| plan.subjects.iter().find(|subject| subject.label == **label).cloned());
    plan.subjects = subjects.collect();
    // They name subjects by their places.
    plan.blocks.clear();
    plan.experiment.require.clear();
    Ok(plan)
}
