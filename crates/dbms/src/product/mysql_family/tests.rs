//! How values are written in an option file.

use super::*;

#[test]
fn values_are_quoted_where_an_option_file_would_cut_them() {
    let check = |value: &str, expected: &str| assert_eq!(written(value), expected);
    check("128M", "128M");
    check("STRICT_ALL_TABLES,NO_ZERO_DATE", "STRICT_ALL_TABLES,NO_ZERO_DATE");
    check("SET @a = 1 # or 2", "\"SET @a = 1 # or 2\"");
    check("SET @a = \"b#c\", @d = 1", "\"SET @a = \\\"b#c\\\", @d = 1\"");
    check(" a ", "\" a \"");
    check("a\\tb", "\"a\\\\tb\"");
    check("'a # b'", "'a # b'");
    check("", "");
    let path = |text: &str| written_path(Path::new(text));
    assert_eq!(path("/builds/a b"), "/builds/a b");
    assert_eq!(path("/builds/a#1/mysql"), "\"/builds/a#1/mysql\"");
}

#[test]
fn what_turns_a_setting_around_is_switched_off_in_any_way() {
    let check = |name: &str, value: &str, expected: &str| {
        assert_eq!(switched(name, value), expected, "{name} {value}");
    };
    check("skip_log_bin", "off", "0");
    check("skip-log-bin", "false", "0");
    check("loose_disable_log_bin", "'OFF'", "0");
    check("skip_log_bin", "1", "1");
    check("skip_log_bin", "on", "on");
    check("log_bin", "off", "off");
}

#[test]
fn tables_share_a_file_where_that_is_asked_for_in_any_way() {
    let check = |name: &str, value: &str, version: &str, expected: &'static [&'static str]| {
        let config = Config { settings: vec![Setting::of(name, value)], ..Config::default() };
        let size = crate::find("mysql").unwrap().size(&config, version);
        assert_eq!(size, Size::Files(expected));
    };
    check("innodb_file_per_table", "OFF", "9.7.4", INNODB_SHARED_FILES);
    check("innodb-file-per-table", "0", "9.7.4", INNODB_SHARED_FILES);
    check("innodb_file_per_table", "false", "9.7.4", INNODB_SHARED_FILES);
    check("innodb-file-per-table", "1", "5.5.9", INNODB_FILES);
    check("sync_binlog", "0", "5.5.9", INNODB_SHARED_FILES);
}

#[test]
fn an_unknown_setting_is_named_unless_it_was_optional() {
    let log = "[Warning] mysqld: unknown variable 'loose_innodb-x=1'\n\
               [ERROR] mysqld: unknown variable 'innodb_io_capacity_max=20000'\n";
    assert_eq!(unknown_setting(log).as_deref(), Some("innodb_io_capacity_max"));
    let log = "mysqld: unknown option '--skip-there'";
    assert_eq!(unknown_setting(log).as_deref(), Some("skip_there"));
    assert_eq!(unknown_setting("[Warning] unknown variable 'loose_x=1'"), None);
    assert_eq!(unknown_setting("all is well"), None);
}

#[test]
fn what_mariadb_takes_and_does_nothing_with_is_ignored() {
    let optional = Setting { optional: true, ..Setting::of("innodb_change_buffering", "none") };
    let settings = [optional, Setting::of("innodb-buffer-pool-instances", "8")];
    let check = |log: &str, expected: &[&str]| assert_eq!(ignored(&settings, log), expected);
    let removed = "was removed. It does nothing now and exists only for compatibility";
    check(
        "[Warning] mariadbd: unknown variable 'loose_innodb_change_buffering=none'",
        &["innodb_change_buffering"],
    );
    check("[Warning] mariadbd: unknown variable 'innodb_buffer_pool_instances=8'", &[]);
    let log = format!(
        "0 [Warning] 'innodb-change-buffering' {removed}\n\
         0 [Warning] 'innodb-buffer-pool-instances' {removed}\n\
         0 [Warning] 'innodb-file-format' {removed}\n"
    );
    check(&log, &["innodb_change_buffering", "innodb-buffer-pool-instances"]);
}
