//! How threads share processors.

#![allow(unsafe_code, reason = "the system call that sets a scheduling policy")]

/// Threads of this process that are started from now on take no processor from a thread that works:
/// they wake up, and wait until it waits.
pub fn give_way() -> std::io::Result<()> {
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: `priority` is a valid `sched_param`, and 0 is the thread that calls.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &priority) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_threads_give_way() {
        let policy = std::thread::spawn(|| {
            give_way().unwrap();
            let later = std::thread::spawn(|| {
                // SAFETY: 0 is the thread that calls.
                unsafe { libc::sched_getscheduler(0) }
            });
            later.join().unwrap()
        });
        assert_eq!(policy.join().unwrap(), libc::SCHED_BATCH);
    }
}
