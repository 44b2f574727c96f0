//! An error of Lua as one sentence with file and line.

use mlua::{Error, Value};

/// Most memory of one state, MiB.
pub(crate) const MEMORY_MIB: usize = 1024;

/// How the prelude is called in messages.
pub(crate) const PRELUDE: &str = "dbdyno";

/// What LuaJIT says, without a place, where memory is short.
const OUT_OF_MEMORY: &str = "not enough memory";

/// The reason that a script gave, or the host.
pub(crate) fn reason(script: &str, value: &Value) -> String {
    match value {
        Value::Error(error) => sentence(script, error),
        Value::String(text) => of_text(script, &text.to_string_lossy()),
        other => format!("`{script}` raised a {}", other.type_name()),
    }
}

/// What went wrong in a script.
pub(crate) fn sentence(script: &str, error: &Error) -> String {
    match error {
        Error::CallbackError { traceback, cause } => {
            let told = sentence(script, cause);
            match place(traceback) {
                Some(place) if !told.starts_with(place) => format!("{place}: {told}"),
                _ => told,
            }
        }
        Error::WithContext { cause, .. } => sentence(script, cause),
        Error::RuntimeError(text) | Error::SyntaxError { message: text, .. } => {
            of_text(script, text)
        }
        Error::MemoryError(_) => of_text(script, OUT_OF_MEMORY),
        other => of_text(script, &other.to_string()),
    }
}

fn of_text(script: &str, text: &str) -> String {
    let text = text.split("\nstack traceback:").next().unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.ends_with(OUT_OF_MEMORY) {
        return format!(
            "`{script}` needs more memory than a state of Lua may have, which is {MEMORY_MIB} MiB"
        );
    }
    text
}

/// The first place in a script that a list of calls names: `file:line`.
fn place(traceback: &str) -> Option<&str> {
    traceback.lines().map(str::trim).find_map(|line| {
        let (place, _) = line.split_once(": in")?;
        let (file, number) = place.rsplit_once(':')?;
        let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        (numbered && file != PRELUDE).then_some(place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    #[expect(clippy::arc_with_non_send_sync, reason = "mlua's errors hold their cause so")]
    fn an_error_is_one_line_with_its_place() {
        let check = |error: Error, expected: &str| assert_eq!(sentence("x.lua", &error), expected);
        let text = "x.lua:3: no\ngood\nstack traceback:\n\tx.lua:3: in main chunk";
        check(Error::RuntimeError(text.to_owned()), "x.lua:3: no good");
        let cause = Arc::new(Error::RuntimeError("stopped".to_owned()));
        let traceback = "stack traceback:\n\t[C]: in function 'f'\n\tx.lua:7: in function 'event'";
        let called = Error::CallbackError { traceback: traceback.to_owned(), cause };
        check(called, "x.lua:7: stopped");
        let memory = "`x.lua` needs more memory than a state of Lua may have, which is 1024 MiB";
        check(Error::MemoryError("not enough memory".to_owned()), memory);
    }
}
