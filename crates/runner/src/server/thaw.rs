//! A server is thawed for its own work only: it is frozen again on every way out, so that one that
//! broke does not disturb the others.

use crate::Error;

/// One way of a subject from frozen to thawed, or back.
pub(crate) type Change<S> = fn(&mut S) -> Result<(), Error>;

/// Does `work` after `thaw` and before `freeze`, which is done however the others end. What fails
/// first is told.
pub(crate) fn between<S, T>(
    subject: &mut S,
    thaw: Change<S>,
    freeze: Change<S>,
    work: impl FnOnce(&mut S) -> Result<T, Error>,
) -> Result<T, Error> {
    let done = thaw(subject).and_then(|()| work(subject));
    let frozen = freeze(subject);
    let done = done?;
    frozen.map(|()| done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Fake {
        told: Vec<&'static str>,
        stuck: Option<&'static str>,
    }

    fn note(fake: &mut Fake, what: &'static str) -> Result<(), Error> {
        fake.told.push(what);
        if fake.stuck == Some(what) { Err(Error::Driver(what.to_owned())) } else { Ok(()) }
    }

    #[test]
    fn a_server_is_frozen_again_however_its_work_ends() {
        let check = |stuck: Option<&'static str>, told: &[&str], expected: Result<u8, &str>| {
            let mut fake = Fake { stuck, ..Fake::default() };
            let thaw = |fake: &mut Fake| note(fake, "thaw");
            let freeze = |fake: &mut Fake| note(fake, "freeze");
            let done = between(&mut fake, thaw, freeze, |fake| note(fake, "work").map(|()| 7));
            assert_eq!(fake.told, told);
            assert_eq!(done.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
        };
        check(None, &["thaw", "work", "freeze"], Ok(7));
        check(Some("work"), &["thaw", "work", "freeze"], Err("work"));
        check(Some("thaw"), &["thaw", "freeze"], Err("thaw"));
        check(Some("freeze"), &["thaw", "work", "freeze"], Err("freeze"));
    }
}
