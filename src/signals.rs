//! Ctrl-C, SIGTERM and the end of a terminal raise the runner's stop flag; a second Ctrl-C or
//! SIGTERM ends the process at once.

use runner::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Connects SIGINT, SIGTERM and SIGHUP to `stop`, but not a SIGHUP that is to be ignored: under
/// `nohup` a run outlives its terminal. The keeper cleans up even after the second signal.
pub(crate) fn connect(stop: &Stop) -> std::io::Result<()> {
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.flag())?;
        signal_hook::flag::register(signal, stop.flag())?;
    }
    // A terminal that closes sends it twice, by its shell and by the kernel: the second one must
    // not cut off what the first one begins, such as dropping a database on another host.
    if !is_ignored(SIGHUP, &status) {
        signal_hook::flag::register(SIGHUP, stop.flag())?;
    }
    Ok(())
}

/// Whether a process ignores a signal, by its text in `/proc/PID/status`.
fn is_ignored(signal: i32, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (mask >> (signal - 1)) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_ignored_is_known_by_its_place_in_the_mask() {
        let check = |ignored: &str, signal, expected| {
            let status = format!("Name:\tdbdyno\nSigBlk:\t0000000000000001\n{ignored}SigCgt:\t0\n");
            assert_eq!(is_ignored(signal, &status), expected, "{ignored}");
        };
        // The library of Rust ignores SIGPIPE.
        check("SigIgn:\t0000000000001000\n", SIGHUP, false);
        check("SigIgn:\t0000000000001001\n", SIGHUP, true);
        check("SigIgn:\t0000000000001001\n", SIGINT, false);
        check("", SIGHUP, false);
    }

    #[test]
    fn a_terminal_that_closes_may_say_so_twice() {
        let stop = Stop::default();
        connect(&stop).unwrap();
        let status = fs_err::read_to_string("/proc/self/status").unwrap();
        for _ in 0..2 {
            signal_hook::low_level::raise(SIGHUP).unwrap();
        }
        assert_eq!(stop.is_raised(), !is_ignored(SIGHUP, &status));
    }
}
