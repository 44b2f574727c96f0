//! Where a task spends its CPU time: its place in the code, several thousand times per second of
//! CPU time, by the kernel's CPU clock. Needs no hardware counters.
//!
//! The clock ticks on every CPU, whatever task is there, and the samples of others are dropped: a
//! clock of the task alone is set anew at each switch, which made a point query of Postgres cost
//! three times as much. Callers are known within the kernel alone: servers are compiled without
//! frame pointers. Where the kernel blocks interrupts, a sample waits until it permits them again.

use crate::{
    background::{Background, Stopped},
    environment::{ONLINE, cpus},
};
use perf_event::{Builder, Record, SampleFlag, Sampler, data::Record as Parsed, events::Software};
use std::{collections::HashMap, io, path::Path, time::Duration};

/// CPU time between two samples [ns]; a prime, so that no rhythm of the work meets that of the
/// samples.
const PERIOD: u64 = 249_989;
/// How often samples are taken out of the kernel's buffer,
const TAKEN: Duration = Duration::from_millis(50);
/// which has room for several times as many. With one of each CPU, users other than root may lock
/// no more memory (`kernel.perf_event_mlock_kb`).
const BUFFER: usize = 1 << 19;

/// Entries of a chain of callers from here on say whose the next ones are.
const MARKERS: u64 = -4095_i64 as u64;
const OF_KERNEL: u64 = -128_i64 as u64;
const OF_USER: u64 = -512_i64 as u64;

/// Where a task was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stack {
    /// Address in user mode; that of the call where the task was in the kernel.
    pub user: Option<u64>,
    /// Addresses in the kernel, callers first; empty in user mode.
    pub kernel: Vec<u64>,
}

/// How many samples found a task with each stack.
pub type Found = HashMap<Stack, u64>;

/// Samples a task until it is stopped or dropped.
pub struct CpuSamples {
    thread: Background<Found>,
}

impl CpuSamples {
    /// Begins.
    ///
    /// # Errors
    /// If the kernel does not permit it (`kernel.perf_event_paranoid`).
    pub fn start(task: u32) -> io::Result<Self> {
        let mut samplers =
            online()?.into_iter().map(on_cpu).collect::<io::Result<Vec<Sampler>>>()?;
        let work = move |stopped: &Stopped| watch(&mut samplers, task, stopped);
        Ok(Self { thread: Background::start("cpu-samples", work)? })
    }

    /// Whether this process may sample tasks.
    ///
    /// # Errors
    /// As of [`CpuSamples::start`].
    pub fn permitted() -> io::Result<()> {
        online()?.into_iter().take(1).try_for_each(|cpu| on_cpu(cpu).map(drop))
    }

    /// Ends, and gives what was found.
    pub fn stop(mut self) -> Found {
        self.thread.end().unwrap_or_default()
    }
}

fn online() -> io::Result<Vec<usize>> {
    Ok(cpus(&fs_err::read_to_string(Path::new("/sys").join(ONLINE))?).into_iter().collect())
}

/// A clock that runs.
fn on_cpu(cpu: usize) -> io::Result<Sampler> {
    let mut event = Builder::new(Software::CPU_CLOCK);
    event.any_pid().one_cpu(cpu).include_kernel().exclude_idle(true);
    event.sample_period(PERIOD);
    event.sample(SampleFlag::IP).sample(SampleFlag::TID).sample(SampleFlag::CALLCHAIN);
    let mut sampler = event.build()?.sampled(BUFFER)?;
    sampler.enable()?;
    Ok(sampler)
}

fn watch(samplers: &mut [Sampler], task: u32, stopped: &Stopped) -> Found {
    let mut found = Found::new();
    loop {
        let ended = stopped.within(TAKEN);
        for sampler in samplers.iter_mut() {
            if ended {
                // What comes later is not of the work; an event that cannot be stopped ends too.
                let _ = sampler.disable();
            }
            while let Some(record) = sampler.next_record() {
                if let Some(stack) = stack(&record, task) {
                    *found.entry(stack).or_default() += 1;
                }
            }
        }
        if ended {
            return found;
        }
    }
}

/// Where a sample found the task, if it is of this one.
fn stack(record: &Record, task: u32) -> Option<Stack> {
    match record.parse_record().ok()? {
        Parsed::Sample(sample) if sample.tid() == Some(task) => {
            let chain = sample.callchain().unwrap_or_default();
            let stack = of_chain(chain);
            // Without a chain, as in a process that is gone, there is the address alone.
            let is_empty = stack == Stack::default();
            Some(if is_empty { Stack { user: sample.ip(), ..stack } } else { stack })
        }
        _ => None,
    }
}

/// Chains have the innermost function first, and markers where those of the kernel and of the
/// process begin. Of the process, the first is known.
fn of_chain(chain: &[u64]) -> Stack {
    let mut stack = Stack::default();
    let mut marker = 0;
    for entry in chain {
        match *entry {
            new if new >= MARKERS => marker = new,
            address if marker == OF_KERNEL => stack.kernel.push(address),
            address if marker == OF_USER && stack.user.is_none() => stack.user = Some(address),
            _ => {}
        }
    }
    stack.kernel.reverse();
    stack
}

/// Names of the kernel's functions.
#[derive(Debug, Clone, Default)]
pub struct KernelNames {
    /// In the order of their addresses.
    functions: Vec<(u64, String)>,
}

impl KernelNames {
    /// Those of this host; none where it does not tell them (`kernel.kptr_restrict`).
    pub fn read() -> Self {
        Self::parse(&fs_err::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    /// Whether the host tells none.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    fn parse(text: &str) -> Self {
        let function = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
            (is_code && address > 0).then_some((address, words.next()?.to_owned()))
        };
        let mut functions: Vec<(u64, String)> = text.lines().filter_map(function).collect();
        functions.sort();
        Self { functions }
    }

    /// The function at an address.
    pub fn at(&self, address: u64) -> &str {
        let after = self.functions.partition_point(|(start, _)| *start <= address);
        let known = after.checked_sub(1).and_then(|index| self.functions.get(index));
        known.map_or("(unknown)", |(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn a_chain_is_that_of_the_kernel_below_a_function_of_the_process() {
        let chain = [OF_KERNEL, 30, 20, 10, OF_USER, 7, 6];
        assert_eq!(of_chain(&chain), Stack { user: Some(7), kernel: vec![10, 20, 30] });
        assert_eq!(of_chain(&[OF_USER, 7, 6]), Stack { user: Some(7), kernel: vec![] });
        assert_eq!(of_chain(&[]), Stack::default());
    }

    #[test]
    fn names_are_those_of_the_function_that_begins_before() {
        let text = "0000000000000010 T first\n0000000000000020 t second\n0000000000000018 D data\n\
                    nonsense\n0000000000000000 T hidden\n";
        let names = KernelNames::parse(text);
        assert_eq!(
            [names.at(8), names.at(0x10), names.at(0x1f), names.at(99)],
            ["(unknown)", "first", "first", "second"]
        );
        // A user who may sample need not be told the addresses.
        assert!(!names.is_empty() && KernelNames::parse("0000000000000000 T hidden\n").is_empty());
    }

    #[test]
    fn a_task_that_computes_is_found_in_user_mode() {
        let task = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let samples = match CpuSamples::start(task) {
            Ok(samples) => samples,
            Err(error) => {
                println!("skipped: {error}");
                return;
            }
        };
        let mut sum = 0_u64;
        for turn in 0..400_000_000_u64 {
            sum = black_box(sum ^ turn);
        }
        let found = samples.stop();
        let all: u64 = found.values().sum();
        let in_user: u64 =
            found.iter().filter(|(stack, _)| stack.kernel.is_empty()).map(|(_, n)| n).sum();
        assert!(all > 100 && 2 * in_user > all, "{in_user} of {all}");
    }
}
