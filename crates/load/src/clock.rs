//! Time: one monotonic clock, read once per step of a worker.

#![allow(
    unsafe_code,
    reason = "system calls for the clock, which std offers without absolute sleep"
)]

use values::civil::Civil;

/// A clock in nanoseconds. Workers are generic over it, so that schedules are tested without
/// waiting.
pub trait Clock {
    /// Nanoseconds since an arbitrary start.
    fn now(&mut self) -> u64;

    /// Returns when the clock shows `deadline` or more.
    fn sleep_until(&mut self, deadline: u64);

    /// Returns when the thread is unparked, when the clock shows `deadline` or more, or for no
    /// reason.
    fn park_until(&mut self, deadline: u64);

    /// Seconds since 1970 of the wall clock.
    fn wall(&mut self) -> u64;
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

    fn park_until(&mut self, deadline: u64) {
        match deadline {
            u64::MAX => std::thread::park(),
            deadline => {
                let rest = deadline.saturating_sub(self.now());
                std::thread::park_timeout(std::time::Duration::from_nanos(rest));
            }
        }
    }

    fn wall(&mut self) -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid for writes; this clock exists on every Linux, so there is no
        // error.
        unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &mut time) };
        time.tv_sec as u64
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

/// Writes seconds since 1970 as `YYYY-MM-DD HH:MM:SS`, UTC, to a text of that length.
pub fn write_time(seconds: u64, text: &mut [u8; 19]) {
    let Civil { year, month, day, hour, minute, second } = Civil::of(seconds);
    let numbers = [year / 100, year % 100, month, day, hour, minute, second];
    for (start, number) in [0, 2, 5, 8, 11, 14, 17].into_iter().zip(numbers) {
        text[start] = b'0' + (number / 10 % 10) as u8;
        text[start + 1] = b'0' + (number % 10) as u8;
    }
    for (place, mark) in [(4, b'-'), (7, b'-'), (10, b' '), (13, b':'), (16, b':')] {
        text[place] = mark;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        let check = |seconds, expected: &str| {
            let mut text = [0; 19];
            write_time(seconds, &mut text);
            assert_eq!(std::str::from_utf8(&text).unwrap(), expected);
        };
        check(0, "1970-01-01 00:00:00");
        check(1_234_567_890, "2009-02-13 23:31:30");
        check(4_107_542_400, "2100-03-01 00:00:00");
    }

    #[test]
    fn a_sleep_ends_after_its_deadline() {
        let mut clock = Monotonic;
        let deadline = clock.now() + 2_000_000;
        clock.sleep_until(deadline);
        assert!(clock.now() >= deadline);
        clock.sleep_until(deadline);
    }
}
