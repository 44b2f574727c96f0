//! The words of a command line of sysbench.

use crate::{Error, general::RENAMED};

/// Options, a script and a command, in the order that users are used to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandLine {
    /// Path or name of the script.
    pub script: String,
    /// What to execute: `prepare`, `run`, `cleanup` or a command of the script's own.
    pub command: String,
    /// Options in their order: name with `_` for `-`, and the value, if there is one.
    pub options: Vec<(String, Option<String>)>,
    /// All words as they were given.
    pub words: Vec<String>,
}

impl CommandLine {
    /// Reads the words behind `sysbench`.
    ///
    /// # Errors
    /// A script or a command is missing, or there are too many words.
    pub fn parse(words: &[String]) -> Result<Self, Error> {
        let mut line = Self { words: words.to_vec(), ..Self::default() };
        let mut last_option: Option<&str> = None;
        for word in words {
            if let Some(option) = word.strip_prefix("--") {
                let (name, value) = match option.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (option, None),
                };
                last_option = value.is_none().then_some(word);
                let name = name.replace('-', "_");
                // The way to name it before sysbench 1.0, which still takes it.
                if let ("test", Some(script)) = (name.as_str(), &value) {
                    line.script.clone_from(script);
                    continue;
                }
                let renamed = RENAMED.iter().find(|(old, _)| *old == name);
                line.options.push((renamed.map_or(name, |(_, now)| (*now).to_owned()), value));
                continue;
            }
            let bare = last_option.take().filter(|_| is_value(word));
            if let Some(option) = bare {
                return usage(format!(
                    "write `{option}={word}`: options have their value behind `=`"
                ));
            }
            if line.script.is_empty() {
                line.script.clone_from(word);
            } else if line.command.is_empty() {
                line.command.clone_from(word);
            } else {
                return usage(format!(
                    "`{word}` is one word too many: a script and a command are expected"
                ));
            }
        }
        if line.script.is_empty() {
            return usage(
                "a script is missing: give its path, such as `./oltp_read_only.lua`".into(),
            );
        }
        if line.command.is_empty() {
            let script = &line.script;
            return usage(format!(
                "a command is missing behind `{script}`: `prepare`, `run`, `cleanup`, `help` or \
                 one of the script's own"
            ));
        }
        Ok(line)
    }
}

/// Whether a word looks like a value and not like a script or a command.
fn is_value(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit()) || ["on", "off"].contains(&word)
}

fn usage<T>(sentence: String) -> Result<T, Error> {
    Err(Error::Usage(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<CommandLine, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        CommandLine::parse(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn options_may_stand_anywhere_and_hyphens_are_underscores() {
        let line = parse("--db-driver=pgsql x.lua --table-size=5 --skip_trx run").unwrap();
        assert_eq!((line.script.as_str(), line.command.as_str()), ("x.lua", "run"));
        let option = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        let expected = [
            option("db_driver", Some("pgsql")),
            option("table_size", Some("5")),
            option("skip_trx", None),
        ];
        assert_eq!(line.options, expected);
        let line = parse("--test=x.lua --num-threads=2 run").unwrap();
        assert_eq!((line.script.as_str(), line.command.as_str()), ("x.lua", "run"));
        assert_eq!(line.options, [option("threads", Some("2"))]);
    }

    #[test]
    fn what_is_wrong_is_said_in_one_sentence() {
        let check = |line: &str, expected: &str| {
            let message = parse(line).unwrap_err();
            assert!(message.contains(expected), "{message}");
        };
        check("", "a script is missing");
        check("x.lua", "a command is missing behind `x.lua`");
        check("x.lua --threads 8 run", "write `--threads=8`");
        check("x.lua run now", "`now` is one word too many");
    }
}
