//! Settings that no configuration may have, because each start has values of its own for them.

use crate::{Error, Result, find};
use model::subject::{Config, Setting, Transport};

/// The setting that names a port, in every product that has one.
const PORT: &str = "port";

/// Whether a setting names the port of a server.
pub fn names_port(setting: &Setting) -> bool {
    setting.name.eq_ignore_ascii_case(PORT)
}

/// Refuses a configuration that would lead a server out of the folders of its run, or let others
/// enter it: where its data, sockets and log lie and whom it listens to is dbdyno's to say. A port
/// may be named where the transport is TCP.
pub fn check_settings(server: &str, config: &Config) -> Result<()> {
    let own = find(server)?.own_settings();
    for setting in &config.settings {
        let name = plain(&setting.name);
        let name = meant(&name, own);
        let is_port = name == PORT && config.transport == Transport::Socket;
        if !own.is_empty() && (is_port || may_mean(name, own)) {
            let remedy = if is_port { ", or add `transport = \"tcp\"`" } else { "" };
            let (config, name) = (config.name.clone(), setting.name.clone());
            return Err(Error::OwnSetting { config, name, remedy });
        }
    }
    Ok(())
}

/// As servers compare names: `-` is `_`.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace('-', "_")
}

/// Settings of which an own one is a longer form.
const SHORT_NAMES: &[&str] = &["innodb", PORT];

/// Whether a server may take a name for an own setting: MySQL lets names be cut off. Which of them
/// are ambiguous depends on the version, so all are refused.
fn may_mean(name: &str, own: &[&str]) -> bool {
    own.contains(&name)
        || !SHORT_NAMES.contains(&name)
            && own.iter().any(|own| {
                own.starts_with(name)
                    || own.strip_prefix("skip_").is_some_and(|own| own.starts_with(name))
            })
}

/// Words that MySQL takes off the front of a name, to ignore them or to turn its value around.
const PREFIXES: &[&str] = &["loose_", "enable_", "disable_", "skip_", "maximum_"];

/// The name in `own` that a server may take `name` for; else what is left of it.
fn meant<'a>(name: &'a str, own: &[&str]) -> &'a str {
    let mut name = name;
    while !own.contains(&name) {
        match PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) {
            Some(rest) => name = rest,
            None => break,
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(server: &str, transport: Transport, setting: &str) -> std::result::Result<(), String> {
        let config = Config {
            name: "mine".to_owned(),
            transport,
            settings: vec![Setting::of(setting, "1")],
            ..Config::default()
        };
        check_settings(server, &config).map_err(|error| error.to_string())
    }

    #[test]
    fn a_configuration_cannot_move_data_sockets_or_listeners() {
        let cases = [
            ("mysql", "datadir"),
            ("mysql", "loose-innodb-data-home-dir"),
            ("mariadb", "Bind-Address"),
            ("mysql", "skip-networking"),
            ("mariadb", "loose_disable-skip-networking"),
            ("mysql", "mysqlx"),
            ("mysql", "admin-address"),
            ("mysql", "log_error"),
            ("mariadb", "log-err"),
            ("mysql", "bind_addr"),
            ("mysql", "loose_bind_address"),
            ("mysql", "skip-net"),
            ("mysql", "loose-skip-netw"),
            ("mysql", "sock"),
            ("mysql", "skip_grant"),
            ("mysql", "maximum-bind-addr"),
            ("mariadb", "extra_port"),
            ("mariadb", "BIND"),
            ("postgres", "Listen_Addresses"),
            ("postgres", "include"),
            ("mariadb", "socket"),
            ("postgres", "data_directory"),
            ("postgres", "listen_addresses"),
        ];
        for (server, setting) in cases {
            for transport in [Transport::Socket, Transport::Tcp] {
                let said = check(server, transport, setting).unwrap_err();
                assert!(said.contains(&format!("`mine` sets `{setting}`")), "{said}");
            }
        }
        assert_eq!(check("mysql", Transport::Socket, "innodb_flush_method"), Ok(()));
        assert_eq!(check("mysql", Transport::Socket, "skip_name_resolve"), Ok(()));
        assert_eq!(check("mysql", Transport::Socket, "skip_log_bin"), Ok(()));
        assert_eq!(check("mysql", Transport::Socket, "log_error_verbosity"), Ok(()));
        assert_eq!(check("postgres", Transport::Tcp, "port"), Ok(()));
        let said = check("postgres", Transport::Socket, "port").unwrap_err();
        assert!(said.ends_with("or add `transport = \"tcp\"`"), "{said}");
        assert_eq!(check("sqlite", Transport::Socket, "port"), Ok(()));
    }
}
