//! Exit codes, and the one place where an error becomes words on stderr.

use crate::talk;
use std::process::ExitCode;

/// What scripts read. The numbers are a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Everything asked for was done.
    Done = 0,
    /// What was asked about does not hold: a target was missed, or there is a regression.
    Missed = 1,
    /// Usage, bad input, or a failure.
    Failed = 2,
    /// Whether there is a regression was asked, and no verdict is decided.
    Undecided = 3,
    /// The user stopped it; what was measured is kept.
    Interrupted = 130,
}

/// Turns a command's result into the process's exit code, and says an error in one clear sentence.
pub(crate) fn code(result: anyhow::Result<Code>) -> ExitCode {
    let code = result.unwrap_or_else(|error| {
        talk::error(&error);
        if is_interrupt(&error) { Code::Interrupted } else { Code::Failed }
    });
    ExitCode::from(code as u8)
}

/// Help and version go to stdout with code 0; wrong usage goes to stderr with code 2.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let short = talk::shortened(&text);
    if error.use_stderr() && short != text {
        talk::say_lines(short.trim_end());
        return code(Ok(Code::Failed));
    }
    let printed = error.print();
    if error.use_stderr() {
        return code(Ok(Code::Failed));
    }
    code(talk::written(printed).map(|()| Code::Done).map_err(Into::into))
}

/// The result of a process that serves another one: it is done when that one has gone.
pub(crate) fn of_process(result: anyhow::Result<()>) -> anyhow::Result<Code> {
    match result {
        Err(error) if !is_closed_pipe(&error) => Err(error),
        _ => Ok(Code::Done),
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

fn is_interrupt(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<runner::Error>())
        .any(|cause| matches!(cause, runner::Error::Interrupted))
}
