//! Addresses, passwords and certificates from keys and files.

use super::*;
use greeting::{greets_as, refusal};
use model::escape;

fn written(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

fn at(host: &str) -> Attach {
    Attach { host: host.to_owned(), tls: AttachTls::Off, ..Attach::default() }
}

#[test]
fn keys_say_where_and_who_and_products_the_rest() {
    let target = enter(&at("db.example"), "mysql").unwrap();
    let endpoint = Endpoint::Address { host: "db.example".to_owned(), port: 3306 };
    assert_eq!((&target.endpoint, target.tls.is_none()), (&endpoint, true));
    assert_eq!((target.user.as_str(), target.database.as_str()), ("root", ""));
    let attach = Attach { port: Some(6000), user: "me".to_owned(), ..at("db.example") };
    let target = enter(&attach, "postgres").unwrap();
    let endpoint = Endpoint::Address { host: "db.example".to_owned(), port: 6000 };
    assert_eq!(target.endpoint, endpoint);
    assert_eq!((target.user.as_str(), target.database.as_str()), ("me", "postgres"));
    let folder = tempfile::tempdir().unwrap();
    let attach = Attach { socket: Some(folder.path().to_owned()), ..Attach::default() };
    let socket = folder.path().join(".s.PGSQL.5432");
    assert_eq!(enter(&attach, "postgres").unwrap().endpoint, Endpoint::Socket(socket));
    let error = enter(&Attach::default(), "mysql").unwrap_err().to_string();
    assert!(error.contains("neither `host` nor `socket`"), "{error}");
    assert!(enter(&at("h"), "sqlite").is_err());
}

#[test]
fn a_session_may_be_idle_as_long_as_a_phase_takes() {
    for (product, limit) in [
        ("mysql", "wait_timeout"),
        ("mariadb", "wait_timeout"),
        ("postgres", "idle_session_timeout"),
    ] {
        let said = enter(&at("h"), product).unwrap().initial_sql.concat();
        assert!(said.contains(limit), "{product}: {said}");
    }
}

#[test]
fn a_password_is_read_where_the_experiment_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(&folder, "password", "hunter2\nmore\n");
    let attach = Attach { password: PasswordFrom::File(file), ..at("h") };
    assert_eq!(enter(&attach, "mysql").unwrap().password.reveal(), "hunter2");
    let unset = PasswordFrom::Variable("DBDYNO_NO_SUCH_VARIABLE".to_owned());
    let error = enter(&Attach { password: unset, ..at("h") }, "mysql").unwrap_err().to_string();
    assert_eq!(
        error,
        "`h`: the variable `DBDYNO_NO_SUCH_VARIABLE` that `password_env` names is not set: \
         export it"
    );
    let missing = PasswordFrom::File(folder.path().join("none"));
    let error = enter(&Attach { password: missing, ..at("h") }, "mysql").unwrap_err().to_string();
    assert!(error.contains("none"), "{error}");
}

#[test]
fn connections_over_the_network_are_verified_unless_asked_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let ca = written(&folder, "ca.pem", "CA");
    let files = TlsFiles { ca: Some(ca), ..TlsFiles::default() };
    let attach = Attach { tls: AttachTls::On(files), ..at("db.example") };
    let tls = enter(&attach, "mysql").unwrap().tls.unwrap();
    let foreign = tls.foreign.unwrap();
    assert_eq!((tls.certificate.as_str(), foreign.name.as_str()), ("CA", "db.example"));
    assert_eq!(foreign.check, CertificateCheck::Whole);
    let check = CertificateCheck::Nothing;
    let files = TlsFiles { check, ..TlsFiles::default() };
    let attach = Attach { tls: AttachTls::On(files), ..at("db.example") };
    let tls = enter(&attach, "mysql").unwrap().tls.unwrap();
    assert_eq!((tls.certificate.as_str(), tls.foreign.unwrap().check), ("", check));
}

#[test]
fn option_files_and_services_say_what_the_experiment_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let options = "[mysqld]\nport=1\n[client]\nhost = db\nport=3307\nuser='me'\n\
                   password = \"hunter2\"\nssl-ca=/ca.pem\n# host=no\n[mysql]\nhost=other\n";
    let file = written(&folder, "my.cnf", options);
    let attach = Attach { defaults_file: Some(file), tls: AttachTls::Off, ..Attach::default() };
    let target = enter(&attach, "mariadb").unwrap();
    assert_eq!(target.endpoint, Endpoint::Address { host: "db".to_owned(), port: 3307 });
    assert_eq!((target.user.as_str(), target.password.reveal()), ("me", "hunter2"));
    let closer = Attach { user: "you".to_owned(), port: Some(1), ..attach };
    let target = enter(&closer, "mariadb").unwrap();
    assert_eq!(target.endpoint, Endpoint::Address { host: "db".to_owned(), port: 1 });
    assert_eq!(target.user, "you");

    let here = "[client]\nuser = me # the tester\npassword = 'a#b' # it\nhost=localhost\n\
                socket=/run/my.sock\n";
    let file = written(&folder, "here.cnf", here);
    let attach = Attach { defaults_file: Some(file), ..Attach::default() };
    let target = enter(&attach, "mysql").unwrap();
    assert_eq!(target.endpoint, Endpoint::Socket("/run/my.sock".into()));
    assert_eq!((target.user.as_str(), target.password.reveal()), ("me", "a#b"));

    let text = "[a]\nhost=/run/pg\n\n[b]\nhost=db\nport=5433\ndbname=app\nsslmode=disable\n\
                sslrootcert=/ca.pem\n";
    let path = Path::new("/pg_service.conf");
    let known = files::in_service(path, text, "a").unwrap();
    assert_eq!((known.socket, known.host), (Some("/run/pg".into()), None));
    let known = files::in_service(path, text, "b").unwrap();
    assert_eq!((known.host.as_deref(), known.port), (Some("db"), Some(5433)));
    assert_eq!((known.database.as_deref(), known.tls), (Some("app"), AttachTls::Off));
    let tunneled = "[t]\nhost=db.example\nhostaddr=127.0.0.1\nport=15432\n";
    let known = files::in_service(path, tunneled, "t").unwrap();
    let endpoint = endpoint_of(&Attach::default(), &known, Own::of("postgres").unwrap()).unwrap();
    assert_eq!(endpoint, Endpoint::Address { host: "127.0.0.1".to_owned(), port: 15432 });
    assert_eq!(known.host.as_deref(), Some("db.example"), "the name of the certificate");
    let error = files::in_service(path, text, "c").unwrap_err().to_string();
    assert_eq!(error, "`service c`: `/pg_service.conf` has no service of this name");
}

#[test]
fn a_group_ends_where_another_one_begins_whatever_follows_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let options = "[client] # all of them\nhost=db\nuser=me\n[mysqldump] # at night\nhost=other\n";
    let known = files::of_options(&written(&folder, "my.cnf", options)).unwrap();
    assert_eq!((known.host.as_deref(), known.user.as_deref()), (Some("db"), Some("me")));
}

#[test]
fn values_of_option_files_are_read_as_by_clients_of_their_servers() {
    let folder = tempfile::tempdir().unwrap();
    let check = |written_value: &str, expected: &str| {
        let text = format!("[client]\npassword={written_value}\n");
        let known = files::of_options(&written(&folder, "my.cnf", &text)).unwrap();
        assert_eq!(known.password.reveal(), expected, "{written_value}");
    };
    check("a b", "a b");
    check("a#b", "a");
    check("\"a#b\"", "a#b");
    check("'it''s' # not b", "it''s");
    check("\"a \\\"#\\\" b\"", "a \"#\" b");
    check("a\\\\b\\sc", "a\\b c");
    check("a\\qb\\", "a\\qb\\");
    check("", "");
}

#[test]
fn a_greeting_tells_the_product() {
    let check = |version: &[u8], expected: Option<&str>| {
        let greeting = [&[74, 0, 0, 0, 10], version, &[0, 1, 2]].concat();
        assert_eq!(greets_as(&greeting), expected);
    };
    check(b"9.7.4", Some("mysql"));
    check(b"5.5.5-10.11.6-MariaDB-log", Some("mariadb"));
    let refused = |said: &[u8]| refusal(&[b"\x17\0\0\0\xff\x10\x04", said].concat());
    assert_eq!(refused(b"Too many connections").as_deref(), Some("Too many connections"));
    assert_eq!(refused(b"#08004Too many").as_deref(), Some("Too many"));
    assert_eq!(refused(b"a\x1b[2J").as_deref(), Some(escape::terminal("a\u{1b}[2J").as_str()));
    assert_eq!((refusal(b"HTTP/1.1 400"), refusal(b"\x01\0\0\0\xff")), (None, None));
    assert_eq!(greets_as(b"HTTP/1.1 400"), None);
    assert_eq!(greets_as(b""), None);
}

#[test]
fn who_listens_and_says_nothing_is_no_server_that_is_known() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = Some(listener.local_addr().unwrap().port());
    let refused = product_of(&Attach { port, ..at("127.0.0.1") }).unwrap_err().to_string();
    assert!(refused.contains("name it by `product`"), "{refused}");
}
