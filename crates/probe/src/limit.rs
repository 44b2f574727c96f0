//! Open files: every attached counter is one.

use crate::Error;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files left for everything else in this process.
const RESERVE: u64 = 64;

/// Raises the number of files that this process may open to its hard limit, and returns it.
///
/// Processes started later inherit the limit, and some servers size their caches by it: so call
/// this before the first server starts, or give servers a limit of their own.
pub fn raise_file_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // A failure shows when the files are needed, with the remedy.
        let _ =
            setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Makes room for `needed` more open files, and leaves the limit as it is where there is room.
pub(crate) fn make_room(needed: u64) -> Result<(), Error> {
    let wanted = needed.saturating_add(open_files()).saturating_add(RESERVE);
    let current = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    if current >= wanted {
        return Ok(());
    }
    let limit = raise_file_limit();
    if limit >= wanted { Ok(()) } else { Err(Error::Files { needed, limit }) }
}

fn open_files() -> u64 {
    fs_err::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_than_the_hard_limit_are_refused_with_the_remedy() {
        assert!(make_room(1).is_ok());
        let hard = getrlimit(Resource::Nofile).maximum;
        let Some(hard) = hard else { return };
        let message = make_room(hard).expect_err("more than the limit").to_string();
        assert!(message.contains("ulimit -n"), "{message}");
    }
}
