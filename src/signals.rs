//! Ctrl-C and SIGTERM raise the runner's stop flag; a second one ends the process at once.

use runner::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Connects SIGINT, SIGTERM and SIGHUP to `stop`. The keeper cleans up even after the second
/// signal.
pub(crate) fn connect(stop: &Stop) -> std::io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.flag())?;
        signal_hook::flag::register(signal, stop.flag())?;
    }
    Ok(())
}
