//! What the task that serves the one connection of an instance spends, and in which functions: its
//! instructions, counted under emulation, or its CPU time, sampled at full speed.

use crate::{Error, intruders::emulation::Serving, server::Instance};
use emulator::{Names, Thread};
use model::explanation::{Area, Function, Quantity};
use probe::{CpuSamples, KernelNames, TaskCpu};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Prefix of the names of functions of the kernel.
const KERNEL: &str = "kernel:";
/// What system calls begin with. The kernel jumps from the first into the others, which then stand
/// in stacks instead of it.
const CALLS: [&str; 3] = ["kernel:__x64_sys_", "kernel:ksys_", "kernel:__sys_"];
/// Parts of the kernel that are no system call: their area, and functions.
const OTHERS: [(&str, &[&str]); 4] = [
    ("kernel: page faults", &["kernel:asm_exc_page_fault", "kernel:exc_page_fault"]),
    ("kernel: interrupts", &["kernel:asm_sysvec_*", "kernel:asm_common_interrupt"]),
    (
        "kernel: entry and exit",
        &["kernel:entry_*", "kernel:do_syscall_64", "kernel:x64_sys_call", "kernel:syscall_*"],
    ),
    ("kernel: switches", &["kernel:schedule", "kernel:ret_from_fork*"]),
];

/// A task that is observed.
pub(super) enum Observed {
    Counted(Serving),
    Sampled(TaskCpu),
}

/// What was spent over a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) process: u32,
    /// Instructions, or nanoseconds.
    pub(super) cost: u64,
    /// Instructions that have no place in the tree of calls.
    pub(super) unplaced: u64,
}

/// The functions of a batch.
pub(super) struct Attributed {
    pub(super) spent: Spent,
    pub(super) samples: u64,
    pub(super) functions: Vec<Function>,
    /// Those that no server's table has.
    pub(super) areas: Vec<Area>,
}

impl Observed {
    /// The task of an instance that has one connection.
    pub(super) fn of(instance: &Instance, by: Quantity) -> Result<Self, Error> {
        match by {
            Quantity::Instructions => Serving::of(instance).map(Self::Counted),
            Quantity::CpuTime => serving(instance).map(Self::Sampled),
        }
    }

    /// What all batches of `work` spend.
    pub(super) fn spent(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<Spent, Error> {
        let before = self.read()?;
        work()?;
        let now = self.read()?;
        // A server can write to its counters, and may be wrong.
        let cost = now.cost.saturating_sub(before.cost);
        Ok(Spent { cost, unplaced: now.unplaced.saturating_sub(before.unplaced), ..now })
    }

    fn read(&self) -> Result<Spent, Error> {
        match self {
            Self::Counted(serving) => {
                let Thread { process, instructions, unplaced, .. } = serving.read()?;
                Ok(Spent { process, cost: instructions, unplaced })
            }
            Self::Sampled(task) => {
                let now = probe::task_cpu_again(std::slice::from_ref(task));
                let gone = || Error::Driver("the serving task has ended".to_owned());
                let cost = now.first().ok_or_else(gone)?.cpu_ns;
                Ok(Spent { process: task.pid, cost, unplaced: 0 })
            }
        }
    }

    /// The same by function.
    pub(super) fn attributed(
        &self,
        work: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Attributed, Error> {
        match self {
            Self::Counted(serving) => {
                let earlier = serving.calls.read(serving.task)?;
                serving.calls.begin()?;
                let spent = self.spent(work)?;
                serving.calls.end()?;
                let tree = serving.calls.read(serving.task)?.since(&earlier);
                let mut names = Names::of(spent.process)?;
                let frames = emulator::frames(&tree, &mut names).into_iter();
                let functions = frames.map(|frame| Function {
                    caller: frame.parent,
                    name: frame.name.to_string(),
                    cost: frame.instructions,
                    calls: frame.calls,
                });
                let (functions, areas) = (functions.collect(), Vec::new());
                Ok(Attributed { spent, samples: 0, functions, areas })
            }
            Self::Sampled(task) => {
                let samples = CpuSamples::start(task.tid).map_err(not_sampled)?;
                let spent = self.spent(work)?;
                let found = samples.stop();
                let mut names = Names::of(spent.process)?;
                let stacks =
                    found.into_iter().map(|(stack, count)| (functions(&stack, &mut names), count));
                let samples = Samples::of(stacks).some()?;
                let (functions, areas) = (samples.functions(spent.cost), samples.areas());
                Ok(Attributed { spent, samples: samples.all(), functions, areas })
            }
        }
    }
}

/// The serving task with its CPU time.
fn serving(instance: &Instance) -> Result<TaskCpu, Error> {
    let (process, task) = instance.serving();
    let tasks = probe::task_cpu(&[process]);
    let own = tasks.into_iter().find(|one| Some(one.tid) == task);
    own.ok_or_else(|| Error::Driver(instance.foreground.how.clone()))
}

fn not_sampled(error: std::io::Error) -> Error {
    Error::Driver(format!("its CPU time cannot be sampled: {error}"))
}

/// The functions of a sample, callers first.
fn functions(stack: &probe::Stack, names: &mut Names) -> Vec<String> {
    let user = stack.user.map(|address| names.at(address).name.to_string());
    let kernel =
        stack.kernel.iter().map(|address| format!("{KERNEL}{}", kernel_names().at(*address)));
    user.into_iter().chain(kernel).collect()
}

/// Read once.
fn kernel_names() -> &'static KernelNames {
    static NAMES: std::sync::OnceLock<KernelNames> = std::sync::OnceLock::new();
    NAMES.get_or_init(KernelNames::read)
}

/// Samples by the function in which they were, and its callers.
struct Samples {
    /// In the order of their names.
    stacks: Vec<(Vec<String>, u64)>,
}

impl Samples {
    fn of(stacks: impl Iterator<Item = (Vec<String>, u64)>) -> Self {
        let mut sums: HashMap<Vec<String>, u64> = HashMap::new();
        for (stack, count) in stacks {
            *sums.entry(stack).or_default() += count;
        }
        let mut stacks: Vec<_> = sums.into_iter().collect();
        stacks.sort();
        Self { stacks }
    }

    /// The same, unless there are none: a cost without samples is in no function.
    fn some(self) -> Result<Self, Error> {
        match self.stacks.is_empty() {
            false => Ok(self),
            true => Err(Error::Preflight(
                "the serving task was in no sample of its CPU time, because so few operations \
                 take too little of it: ask for more by `--operations`"
                    .to_owned(),
            )),
        }
    }

    fn all(&self) -> u64 {
        self.stacks.iter().map(|(_, count)| count).sum()
    }

    /// The functions with their shares of a cost, callers first. Shares add up to the cost.
    fn functions(&self, cost: u64) -> Vec<Function> {
        let all = self.all().max(1);
        let mut functions: Vec<Function> = Vec::new();
        let mut known: HashMap<(Option<usize>, &str), usize> = HashMap::new();
        let (mut counted, mut given) = (0, 0);
        for (stack, count) in &self.stacks {
            let mut caller = None;
            for name in stack {
                let place = *known.entry((caller, name.as_str())).or_insert_with(|| {
                    functions.push(Function { caller, name: name.clone(), cost: 0, calls: 0 });
                    functions.len() - 1
                });
                caller = Some(place);
            }
            counted += count;
            let until = (u128::from(cost) * u128::from(counted) / u128::from(all)) as u64;
            if let Some(function) = caller.map(|place| &mut functions[place]) {
                function.cost += until - given;
                given = until;
            }
        }
        functions
    }

    /// The kernel's, by system call.
    fn areas(&self) -> Vec<Area> {
        let names = self.stacks.iter().flat_map(|(stack, _)| stack);
        let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for name in names {
            if let Some(call) = CALLS.iter().find_map(|begin| name.strip_prefix(begin)) {
                calls.entry(call).or_default().insert(name);
            }
        }
        let area = |name: String, functions: &[&str]| {
            let functions = functions.iter().map(|&pattern| pattern.to_owned()).collect();
            Area { name, functions }
        };
        let calls = calls.into_iter().map(|(call, functions)| {
            area(format!("kernel: {call}"), &functions.into_iter().collect::<Vec<_>>())
        });
        calls.chain(OTHERS.map(|(name, functions)| area(name.to_owned(), functions))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(stacks: &[(&str, u64)]) -> Samples {
        let split = |path: &str| path.split(';').map(str::to_owned).collect();
        Samples::of(stacks.iter().map(|(path, count)| (split(path), *count)))
    }

    #[test]
    fn shares_add_up_to_the_cost_and_callers_come_first() {
        let found = samples(&[("send;kernel:tcp", 1), ("send", 1), ("parse", 1)]);
        let functions = found.functions(1_000);
        let told: Vec<_> =
            functions.iter().map(|one| (one.name.as_str(), one.caller, one.cost)).collect();
        assert_eq!(told, [("parse", None, 333), ("send", None, 333), ("kernel:tcp", Some(1), 334)]);
        assert!(samples(&[]).functions(1_000).is_empty());
    }

    #[test]
    fn a_cost_without_samples_is_refused() {
        let refused = samples(&[]).some().err().map(|error| error.to_string());
        assert!(refused.is_some_and(|said| said.contains("`--operations`")));
        assert!(samples(&[("parse", 1)]).some().is_ok());
    }

    #[test]
    fn what_the_kernel_does_is_by_system_call() {
        let call = "recv;kernel:do_syscall_64;kernel:__x64_sys_recvfrom;kernel:tcp_recvmsg";
        let jumped = "BIO_write;kernel:do_syscall_64;kernel:ksys_write;kernel:tcp_sendmsg";
        let both = "send;kernel:__x64_sys_sendto;kernel:__sys_sendto";
        let areas = samples(&[(call, 3), (call, 2), (jumped, 1), (both, 1)]).areas();
        let check = |place: usize, name: &str, functions: &[&str]| {
            assert_eq!(areas[place].name, name);
            assert_eq!(areas[place].functions, functions);
        };
        check(0, "kernel: recvfrom", &["kernel:__x64_sys_recvfrom"]);
        check(1, "kernel: sendto", &["kernel:__sys_sendto", "kernel:__x64_sys_sendto"]);
        check(2, "kernel: write", &["kernel:ksys_write"]);
        assert_eq!(areas.len(), 3 + OTHERS.len());
    }
}
