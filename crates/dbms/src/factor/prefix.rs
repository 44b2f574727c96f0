//! `prefix`: words before a server's command.

use super::{Factor, Up, processes};
use crate::{Places, task};
use model::subject::Subject;

/// The factor.
pub(super) struct Prefix;

impl Factor for Prefix {
    fn name(&self) -> &'static str {
        "prefix"
    }

    fn help(&self) -> &'static str {
        "words before the command (`nice -n 5`), or empty for none"
    }

    fn give(&self, level: &str, subject: &mut Subject, _: &Places) -> Result<(), String> {
        subject.build.prefix.extend(level.split_whitespace().map(str::to_owned));
        Ok(())
    }

    /// The program is shown by the last part of its path.
    fn label(&self, level: &str) -> String {
        let mut words = level.split_whitespace();
        let program = words.next().and_then(|word| word.rsplit('/').next());
        program.into_iter().chain(words).collect::<Vec<_>>().join("-")
    }

    /// What a prefix does is its own; it has to end in the server.
    fn missed(&self, up: &Up<'_>) -> Option<String> {
        if up.subject.build.prefix.is_empty() {
            return None;
        }
        let program = up.program.canonicalize().unwrap_or_else(|_| up.program.to_owned());
        let runs = |pid: &u32| task::mapped_code(*pid).contains(&program);
        if processes(up).iter().any(runs) {
            return None;
        }
        let program = program.display();
        Some(format!("none of its processes runs `{program}`; let the prefix execute what follows"))
    }
}
