//! How values are written in an option file.

use super::*;

#[test]
fn values_are_quoted_where_an_option_file_would_cut_them() {
    let check = |value: &str, expected: &str| assert_eq!(written(value), expected);
    check("128M", "128M");
    check("STRICT_ALL_TABLES,NO_ZERO_DATE", "STRICT_ALL_TABLES,NO_ZERO_DATE");
    check("SET @a = 1 # or 2", "\"SET @a = 1 # or 2\"");
    check(" a ", "\" a \"");
    check("a\\tb", "\"a\\\\tb\"");
    check("'a # b'", "'a # b'");
    check("", "");
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
