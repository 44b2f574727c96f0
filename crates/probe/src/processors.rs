//! Processors with cores of two kinds: fast ones, and others that save energy.

use crate::environment::{Roots, cpus};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::path::Path;

/// File below `/sys` that lists the CPUs of the fast kind, where there are two.
const FAST: &str = "devices/cpu_core/cpus";

/// Keeps the calling thread, and the threads and processes that it starts from now on, on the fast
/// ones of the CPUs that it may use. The kernel counts events of the hardware on these alone and
/// tells 0 for a task on the others, which take longer for the same work.
pub fn stay_on_fast_processors() {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    if let Some(fast) = fast_of(&Roots::default().sys, &allowed) {
        // What is refused stays where it was: the marks of counters tell.
        let _ = sched_setaffinity(None, &fast);
    }
}

/// The fast ones of some CPUs; none where there is one kind only, or they are all of the other one.
fn fast_of(sys: &Path, allowed: &CpuSet) -> Option<CpuSet> {
    let list = fs_err::read_to_string(sys.join(FAST)).ok()?;
    let mut fast = CpuSet::new();
    for cpu in cpus(list.trim()).into_iter().filter(|cpu| *cpu < CpuSet::MAX_CPU) {
        if allowed.is_set(cpu) {
            fast.set(cpu);
        }
    }
    (fast.count() > 0).then_some(fast)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn of_two_kinds_the_fast_ones_that_are_permitted_are_used() {
        let fake = FakeProc::new();
        let mut allowed = CpuSet::new();
        (1..6).for_each(|cpu| allowed.set(cpu));
        let check = |expected: Option<&[usize]>| {
            let fast = fast_of(fake.root(), &allowed);
            let listed = |fast: CpuSet| -> Vec<usize> {
                (0..CpuSet::MAX_CPU).filter(|cpu| fast.is_set(*cpu)).collect()
            };
            assert_eq!(fast.map(listed).as_deref(), expected);
        };
        check(None);
        fake.write(FAST, "0-3\n");
        check(Some(&[1, 2, 3]));
        fake.write(FAST, "8-9,100000\n");
        check(None);
    }
}
