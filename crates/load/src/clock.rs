//! Time: one monotonic clock, read once per step of a worker.

#![allow(
    unsafe_code,
    reason = "system calls for the clock, which std offers without absolute sleep"
)]

/// A clock in nanoseconds. Workers are generic over it, so that schedules are tested without
/// waiting.
pub trait Clock {
    /// Nanoseconds since an arbitrary start.
    fn now(&mut self) -> u64;

    /// Returns when the clock shows `deadline` or more.
    fn sleep_until(&mut self, deadline: u64);
}

/// CLOCK_MONOTONIC, read through the vDSO: no system call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now(&mut self) -> u64 {
        now_ns()
    }

    fn sleep_until(&mut self, deadline: u64) {
        let wake = libc::timespec {
            tv_sec: (deadline / 1_000_000_000) as libc::time_t,
            tv_nsec: (deadline % 1_000_000_000) as libc::c_long,
        };
        loop {
            // SAFETY: `wake` is a valid timespec; with TIMER_ABSTIME the remainder may be null.
            let result = unsafe {
                libc::clock_nanosleep(
                    libc::CLOCK_MONOTONIC,
                    libc::TIMER_ABSTIME,
                    &wake,
                    std::ptr::null_mut(),
                )
            };
            if result != libc::EINTR {
                return;
            }
        }
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
#[inline]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes; this clock exists on every Linux, so there is no error.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_after_its_deadline() {
        let mut clock = Monotonic;
        let deadline = clock.now() + 2_000_000;
        clock.sleep_until(deadline);
        assert!(clock.now() >= deadline);
        clock.sleep_until(deadline);
    }
}
