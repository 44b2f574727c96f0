//! The options that a script declares, and those that its command line gives.

use crate::{
    CommandLine, Error,
    general::{GENERAL, Kind, REFUSED},
    settings::{Settings, Value},
};
use mlua::{Table, Value as LuaValue};

/// An option of a script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Declared {
    /// Its name with `_`.
    name: String,
    about: String,
    kind: Kind,
    default: Value,
}

/// Reads `sysbench.cmdline.options`; none where the script has no such table.
///
/// # Errors
/// An option is not declared as a table, or its default does not fit.
pub(crate) fn declared(options: Option<Table>) -> Result<Option<Vec<Declared>>, Error> {
    let mut found = Vec::new();
    let Some(options) = options else { return Ok(None) };
    for pair in options.pairs::<String, LuaValue>() {
        let (name, value) = pair.map_err(|_| wrong("a name is no text"))?;
        let LuaValue::Table(table) = value else {
            return Err(wrong(&format!("`{name}` is not a table")));
        };
        let read = |place: i64| table.raw_get::<LuaValue>(place).unwrap_or(LuaValue::Nil);
        let about = read(1).to_string().unwrap_or_default();
        let default = read(2);
        let kind = kind(&default, &read(3));
        let default = value_of(&name, kind, &default)?;
        found.push(Declared { name: name.replace('-', "_"), about, kind, default });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Some(found))
}

fn wrong(what: &str) -> Error {
    Error::Script(format!("the script's `sysbench.cmdline.options` make no sense: {what}"))
}

/// The kind that is declared, by its number, or else that of the default.
fn kind(default: &LuaValue, declared: &LuaValue) -> Kind {
    match (declared.as_i64(), default) {
        (Some(1), _) | (None, LuaValue::Boolean(_)) => Kind::Flag,
        (Some(2..=4), _) | (None, LuaValue::Integer(_) | LuaValue::Number(_)) => Kind::Number,
        (Some(6), _) | (None, LuaValue::Table(_)) => Kind::List,
        _ => Kind::Text,
    }
}

fn value_of(name: &str, kind: Kind, value: &LuaValue) -> Result<Value, Error> {
    // A text is read as that of a command line: `{ "pages", "64K", sysbench.cmdline.ARG_SIZE }`.
    if let LuaValue::String(text) = value
        && kind != Kind::Text
        && !text.as_bytes().is_empty()
    {
        let given = Value::parse(name, kind, Some(text.to_string_lossy().as_str()));
        return given.map_err(|error| wrong(&error.to_string()));
    }
    Ok(match kind {
        Kind::Flag => Value::Flag(value.as_boolean().unwrap_or(false)),
        Kind::Number => Value::Number(match value {
            LuaValue::Integer(number) => *number as f64,
            other => other.as_f64().unwrap_or(0.0),
        }),
        Kind::Text if value.is_nil() => Value::Text(String::new()),
        Kind::Text => Value::Text(value.to_string().unwrap_or_default()),
        Kind::List => {
            let words = value.as_table().map(|table| table.sequence_values::<String>().flatten());
            Value::List(words.map(Iterator::collect).unwrap_or_default())
        }
    })
}

/// Everything that `sysbench.opt` has: sysbench's own options, and those of the script. A script
/// that declares none, as before sysbench 1.0, finds as texts whatever is given.
///
/// # Errors
/// The command line has an option that nobody declares, or a value that makes no sense.
pub(crate) fn merged(
    settings: &Settings,
    declared: Option<&[Declared]>,
    line: &CommandLine,
) -> Result<Vec<(String, Value)>, Error> {
    let general = |name: &str| GENERAL.iter().any(|one| one.name == name);
    let own = declared.unwrap_or_default();
    let mut all: Vec<_> =
        settings.values.iter().map(|(name, value)| (name.clone(), shown(name, value))).collect();
    for (name, text) in &line.options {
        if general(name) || own.iter().any(|one| one.name == *name) {
            continue;
        }
        let given = text.as_deref().unwrap_or_default();
        if let Some(known) = REFUSED.iter().find(|refused| refused.name == name) {
            if given == known.neutral {
                continue;
            }
            let (name, remedy) = (name.replace('_', "-"), known.remedy);
            return Err(Error::Usage(format!("`--{name}` is not supported: {remedy}")));
        }
        if declared.is_some() {
            let (name, script) = (name.replace('_', "-"), &line.script);
            return Err(Error::Usage(format!(
                "there is no option `--{name}`, neither of sysbench nor of `{script}`; `dbdyno \
                 sysbench {script} help` lists them"
            )));
        }
        all.push((name.clone(), Value::Text(given.to_owned())));
    }
    for one in own.iter().filter(|one| !general(&one.name)) {
        let given = line.options.iter().rev().find(|(name, _)| *name == one.name);
        let value = match given {
            Some((_, text)) => Value::parse(&one.name, one.kind, text.as_deref())?,
            None => one.default.clone(),
        };
        all.push((one.name.clone(), value));
    }
    Ok(all)
}

/// A general option as scripts see it: of Postgres one host and one port are no list to sysbench.
fn shown(name: &str, value: &Value) -> Value {
    match value {
        Value::List(words) if name.starts_with("pgsql_") && words.len() == 1 => {
            let number = words[0].parse().map(Value::Number);
            number.unwrap_or_else(|_| Value::Text(words[0].clone()))
        }
        other => other.clone(),
    }
}

/// What `help` prints.
pub(crate) fn help(script: &str, declared: &[Declared]) -> String {
    let mut text = format!("Options of {script}:\n");
    for one in declared {
        let default = match &one.default {
            Value::Flag(flag) => if *flag { "on" } else { "off" }.to_owned(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text.clone(),
            Value::List(words) => words.join(","),
        };
        let name = one.name.replace('_', "-");
        text.push_str(&format!("  --{name:<24} {} [{default}]\n", one.about));
    }
    let general: Vec<String> =
        GENERAL.iter().map(|one| format!("--{}", one.name.replace('_', "-"))).collect();
    text.push_str(&format!("\nOptions of sysbench: {}\n", general.join(" ")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlua::Lua;

    fn merge(options: &str) -> Result<Vec<(String, Value)>, String> {
        let lua = Lua::new();
        let table = lua
            .load(
                r#"return { ["table-size"] = {"rows", 10000}, skip = {"skip", false},
                   variant = {"which"}, time = {"own", 60}, tables = {"list", {"a", "b"}},
                   big = {"size", 1, 3}, ten = {"ten", 10} }"#,
            )
            .eval::<Table>()
            .unwrap();
        let declared = declared(Some(table)).unwrap();
        merge_declared(declared.as_deref(), options)
    }

    fn merge_declared(
        declared: Option<&[Declared]>,
        options: &str,
    ) -> Result<Vec<(String, Value)>, String> {
        let words = format!("x.lua run {options}");
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let line = CommandLine::parse(&words).unwrap();
        let settings = Settings::of(&line, &|_| None).map_err(|error| error.to_string())?;
        merged(&settings, declared, &line).map_err(|error| error.to_string())
    }

    #[test]
    fn a_default_says_the_type_and_general_options_keep_their_own() {
        let all = merge("--table-size=5 --skip --big=2K").unwrap();
        let of = |name: &str| all.iter().find(|one| one.0 == name).unwrap().1.clone();
        assert_eq!(of("table_size"), Value::Number(5.0));
        assert_eq!(of("skip"), Value::Flag(true));
        assert_eq!(of("variant"), Value::Text(String::new()));
        assert_eq!(of("tables"), Value::List(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(of("time"), Value::Number(10.0));
        assert_eq!(of("big"), Value::Number(2048.0));
        assert_eq!(of("ten"), Value::Number(10.0));
    }

    #[test]
    fn a_default_may_be_a_text_of_its_type() {
        let lua = Lua::new();
        let of = |entry: &str| {
            let table = lua.load(format!("return {{ x = {entry} }}")).eval::<Table>().unwrap();
            declared(Some(table)).map(|found| found.unwrap()[0].default.clone())
        };
        assert_eq!(of("{'', '64K', 3}"), Ok(Value::Number(65_536.0)));
        assert_eq!(of("{'', '7', 2}"), Ok(Value::Number(7.0)));
        assert_eq!(of("{'', '', 2}"), Ok(Value::Number(0.0)));
        assert_eq!(of("{'', 'on', 1}"), Ok(Value::Flag(true)));
        assert_eq!(of("{'', 'a,b', 6}"), Ok(Value::List(vec!["a".to_owned(), "b".to_owned()])));
        let reason = of("{'', 'many', 2}").unwrap_err().to_string();
        assert!(reason.ends_with("make no sense: `--x=many`: a number is expected"), "{reason}");
    }

    #[test]
    fn what_nobody_declares_is_named() {
        assert!(merge("--table-szie=5").unwrap_err().contains("no option `--table-szie`"));
        assert!(merge("--table-size=five").unwrap_err().contains("a number is expected"));
        assert!(merge("--mysql-ssl=on").unwrap_err().contains("`--mysql-ssl` is not supported"));
        assert!(merge("--mysql-ssl=off --warmup-time=0").is_ok());
    }

    #[test]
    fn a_script_that_declares_nothing_gets_what_is_given_as_texts() {
        let all = merge_declared(None, "--old-name=7 --threads=2 --pgsql-port=5433").unwrap();
        let of = |name: &str| all.iter().find(|one| one.0 == name).unwrap().1.clone();
        assert_eq!(of("old_name"), Value::Text("7".to_owned()));
        assert_eq!(of("threads"), Value::Number(2.0));
        assert_eq!(of("pgsql_port"), Value::Number(5433.0));
        assert!(merge_declared(None, "--mysql-ssl=on").is_err());
    }
}
