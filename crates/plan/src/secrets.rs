//! The text of an experiment for plans and records, without its secrets.

use model::secret::{HIDDEN, is_secret_name, secrets_in, shown};
use toml::{Table, Value};

/// Tables of servers and configurations by name, in which secrets may stand.
const HOLDERS: [&str; 2] = ["servers", "configs"];
/// Keys of a setting that hold its value.
const VALUES: [&str; 2] = ["value", "before"];

/// An experiment without its secrets; none where it has no secret.
pub(crate) fn without_secrets(experiment: &Table) -> Option<Table> {
    let mut clean = experiment.clone();
    let holders = HOLDERS.iter().filter_map(|name| clean.get(*name)?.as_table().map(|_| *name));
    for holder in holders.collect::<Vec<_>>() {
        let named = clean.get_mut(holder).and_then(Value::as_table_mut).into_iter();
        named.flat_map(|table| table.iter_mut()).for_each(|(_, value)| search(value));
    }
    (clean != *experiment).then_some(clean)
}

fn search(value: &mut Value) {
    match value {
        Value::Table(table) => {
            let is_secret = table.get("secret").and_then(Value::as_bool).unwrap_or(false);
            for (name, value) in table.iter_mut() {
                match value {
                    _ if is_secret && VALUES.contains(&name.as_str()) => hide(value),
                    Value::Table(setting) if is_secret_name(name) => {
                        let values =
                            setting.iter_mut().filter(|(n, _)| VALUES.contains(&n.as_str()));
                        values.for_each(|(_, value)| hide(value));
                    }
                    value if is_secret_name(name) => hide(value),
                    value => search(value),
                }
            }
        }
        Value::Array(words) => search_words(words),
        _ => {}
    }
}

/// Words of a command.
fn search_words(words: &mut [Value]) {
    let texts: Vec<String> =
        words.iter().map(|word| word.as_str().unwrap_or_default().to_owned()).collect();
    let secrets = secrets_in(&texts);
    for (word, text) in words.iter_mut().zip(&texts) {
        match text.split_once('=') {
            _ if secrets.contains(&text.as_str()) => hide(word),
            Some((name, value)) => *word = format!("{name}={}", shown(name, value)).into(),
            None => {}
        }
    }
}

/// Hides everything but flags, of which `secret` itself is one.
fn hide(value: &mut Value) {
    match value {
        Value::Boolean(_) => {}
        Value::Table(table) => table.iter_mut().for_each(|(_, value)| hide(value)),
        Value::Array(values) => values.iter_mut().for_each(hide),
        value => *value = HIDDEN.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_servers_and_configurations_are_hidden() {
        let text = r#"
question = "password = x?"
[servers.token]
basedir = "/opt/token"
prefix = ["wrap", "--token", "h1", "PASSWORD=h2", "-c", "0"]
environment = { API_KEY = "h3", LD_PRELOAD = "/lib/x.so" }
[configs.c.settings]
ssl_passphrase = "h4"
key_buffer_size = "8M"
primary_conninfo = { value = "h5", secret = true, before = { "12" = "h6" }, reason = "r" }
auth_token = { value = 777, reason = "s" }
"#;
        let clean = without_secrets(&text.parse().unwrap()).unwrap();
        let expected = r#"
question = "password = x?"
[servers.token]
basedir = "/opt/token"
prefix = ["wrap", "--token", "***", "PASSWORD=***", "-c", "0"]
environment = { API_KEY = "***", LD_PRELOAD = "/lib/x.so" }
[configs.c.settings]
ssl_passphrase = "***"
key_buffer_size = "8M"
primary_conninfo = { value = "***", secret = true, before = { "12" = "***" }, reason = "r" }
auth_token = { value = "***", reason = "s" }
"#;
        assert_eq!(clean, expected.parse().unwrap());
        let plain = "question = \"?\"\n[servers.a]\nprefix = [\"taskset\", \"-c\", \"0\"]\n";
        assert_eq!(without_secrets(&plain.parse().unwrap()), None);
    }
}
