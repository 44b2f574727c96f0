//! `sysbench`: users' own scripts, on real servers. The stock scripts are those of the package
//! `sysbench`; without it their test prints that and passes.

use crate::{
    lab::{Lab, ends, text},
    running::{eventually, send, up},
};
use std::{
    fs::File,
    path::Path,
    process::{Child, Stdio},
};

/// A server that is up for one test.
struct Up<'l> {
    lab: &'l Lab,
    child: Child,
    /// How sysbench connects to it.
    options: Vec<String>,
}

impl<'l> Up<'l> {
    fn new(lab: &'l Lab, build: &str) -> Self {
        let (child, line) = up(lab, build);
        let words: Vec<&str> = line.split_whitespace().collect();
        let behind = |flag: &str| {
            words.iter().position(|word| *word == flag).map(|at| words[at + 1]).unwrap().to_owned()
        };
        let database = words.last().unwrap();
        let options = if line.starts_with("psql") {
            vec![
                "--db-driver=pgsql".to_owned(),
                format!("--pgsql-host={}", behind("-h")),
                format!("--pgsql-user={}", behind("-U")),
                format!("--pgsql-db={database}"),
            ]
        } else {
            let socket = words.iter().find_map(|word| word.strip_prefix("--socket=")).unwrap();
            vec![
                format!("--mysql-socket={socket}"),
                format!("--mysql-user={}", behind("-u")),
                format!("--mysql-db={database}"),
            ]
        };
        Self { lab, child, options }
    }

    fn command(&self, line: &str) -> std::process::Command {
        let mut words = vec!["sysbench"];
        words.extend(line.split_whitespace());
        words.extend(self.options.iter().map(String::as_str));
        self.lab.command(&words)
    }

    fn succeed(&self, line: &str) -> String {
        ends(0, self.command(line)).0
    }

    /// The one sentence that a command fails with.
    fn fail(&self, line: &str) -> String {
        let (_, err) = ends(2, self.command(line));
        assert_eq!(err.lines().count(), 1, "{err}");
        err
    }
}

impl Drop for Up<'_> {
    fn drop(&mut self) {
        send("-INT", &self.child.id().to_string());
        let _ = self.child.wait();
    }
}

/// The number behind a label of the report.
fn count(report: &str, label: &str) -> u64 {
    let line = report.lines().find(|line| line.trim_start().starts_with(label));
    let line = line.unwrap_or_else(|| panic!("no `{label}` in\n{report}"));
    let rest = line.trim_start().strip_prefix(label).unwrap();
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

/// Statements of one event: with rows, with changed rows, others.
const STOCK: [(&str, [u64; 3]); 9] = [
    ("oltp_point_select", [1, 0, 0]),
    ("oltp_read_only", [14, 0, 2]),
    ("oltp_read_write", [14, 4, 2]),
    ("oltp_write_only", [0, 4, 2]),
    ("oltp_update_index", [0, 1, 0]),
    ("oltp_update_non_index", [0, 1, 0]),
    ("oltp_insert", [0, 1, 0]),
    ("select_random_points", [1, 0, 0]),
    ("select_random_ranges", [1, 0, 0]),
];

fn stock(build: &str) {
    if !Path::new("/usr/share/sysbench/oltp_common.lua").is_file() {
        println!("skipped: the package `sysbench` with its scripts is not installed");
        return;
    }
    let lab = Lab::with_small_logs();
    let up = Up::new(&lab, build);
    for (script, each) in STOCK {
        let tables = if script.starts_with("select") { 1 } else { 2 };
        let line = format!("{script} --tables={tables} --table-size=500 --threads=2");
        let prepared = up.succeed(&format!("{line} prepare"));
        assert!(prepared.contains("'sbtest1'"), "{prepared}");
        for mode in ["auto", "disable"] {
            let report =
                up.succeed(&format!("{line} --events=20 --time=0 --db-ps-mode={mode} run"));
            let errors = count(&report, "ignored errors:");
            assert_eq!(count(&report, "total number of events:"), 20, "{report}");
            assert_eq!(count(&report, "transactions:"), 20, "{report}");
            let [reads, writes, others] =
                ["read:", "write:", "other:"].map(|label| count(&report, label));
            if errors == 0 {
                let expected = each.map(|count| 20 * count);
                let all = [expected[0], expected[1] + expected[2]];
                assert_eq!([reads, writes + others], all, "{script} {mode}\n{report}");
                // A write whose row the other thread has just deleted changes nothing.
                let missed = expected[1].checked_sub(writes);
                assert!(missed.is_some_and(|missed| missed <= 4), "{script} {mode}\n{report}");
            }
        }
        up.succeed(&format!("{line} cleanup"));
    }
    // Rows that are gone are deleted again, which changes nothing.
    up.succeed("oltp_delete --table-size=50 prepare");
    let report = up.succeed("oltp_delete --table-size=50 --events=100 --time=0 run");
    let [writes, others] = ["write:", "other:"].map(|label| count(&report, label));
    assert!(writes + others == 100 && writes <= 50, "{report}");
    up.succeed("oltp_delete cleanup");
    // Rows are events here, and all of them fit into one statement of each thread.
    up.succeed("bulk_insert --threads=2 prepare");
    let report = up.succeed("bulk_insert --threads=2 --events=1000 --time=0 run");
    assert_eq!(count(&report, "total number of events:"), 1000);
    assert!((1..=2).contains(&count(&report, "write:")), "{report}");
    up.succeed("bulk_insert --threads=2 cleanup");
}

#[test]
fn stock_scripts_do_on_mysql_what_their_definitions_say() {
    stock("mysql@9");
}

#[test]
fn stock_scripts_do_on_postgres_what_their_definitions_say() {
    stock("postgres@18");
}

/// Values as scripts see them, NULLs and empty results, errors that scripts catch.
const VALUES: &str = r#"
function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("DROP TABLE IF EXISTS seen")
   con:query("CREATE TABLE seen (id INTEGER PRIMARY KEY, name VARCHAR(20), n BIGINT)")
   con:bulk_insert_init("INSERT INTO seen VALUES")
   for id = 1, 3 do con:bulk_insert_next("(" .. id .. ", 'it''s " .. id .. "', NULL)") end
   con:bulk_insert_done()
   local rs = con:query("SELECT id, name, n FROM seen ORDER BY id")
   assert(rs.nrows == 3 and rs.nfields == 3)
   local row = rs:fetch_row()
   assert(row[1] == "1" and row[2] == "it's 1" and row[3] == nil)
   rs:fetch_row() rs:fetch_row()
   assert(rs:fetch_row() == nil)
   local id, name, n = con:query_row("SELECT id, name, n FROM seen WHERE id = 2")
   assert(id == "2" and name == "it's 2" and n == nil)
   assert(con:query_row("SELECT id FROM seen WHERE id = 9") == nil)
   assert(con:query("UPDATE seen SET n = 5 WHERE id = 1") == nil)
   local stmt = con:prepare("SELECT id, name, n FROM seen WHERE id = ? AND name = ?")
   local id = stmt:bind_create(sysbench.sql.type.INT)
   local name = stmt:bind_create(sysbench.sql.type.VARCHAR, 6)
   stmt:bind_param(id, name)
   id:set(1.9) name:set("it's 1 and more")
   rs = stmt:execute()
   assert(rs.nrows == 1)
   row = rs:fetch_row()
   assert(row[1] == "1" and row[2] == "it's 1" and row[3] == "5")
   name:set(nil)
   assert(stmt:execute().nrows == 0)
   stmt:close()
   stmt = con:prepare("SELECT id + ?, 7 FROM seen WHERE id = ?")
   local plus = stmt:bind_create(sysbench.sql.type.BIGINT)
   id = stmt:bind_create(sysbench.sql.type.INT)
   stmt:bind_param(plus, id)
   for one = 1, 3 do
      plus:set(5000000000) id:set(one)
      row = stmt:execute():fetch_row()
      assert(row[1] == tostring(5000000000 + one) and row[2] == "7")
   end
   stmt:close()
   local ok, e = pcall(con.query, con, "SELECT nothing FROM nowhere")
   assert(not ok and e:find("SQL error") and con.error == sysbench.sql.error.FATAL)
   assert(con:query_row("SELECT 7") == "7" and con.sql_errno == 0 and con.sql_errmsg == "")
   sysbench.hooks.sql_error_ignorable = function(e) return true end
   ok, e = pcall(con.query, con, "SELECT nothing FROM nowhere")
   assert(not ok and e.errcode == sysbench.error.RESTART_EVENT and e.connection == con)
   local old = con:prepare("SELECT 1")
   con:reconnect()
   con:prepare("SELECT 2")
   ok, e = pcall(old.execute, old)
   assert(not ok and tostring(e):find("a connection that was closed"))
   assert(con:query_row("SELECT 8") == "8")
   con:query("DROP TABLE seen")
   local odd = con:prepare("SELECT 12.500, 0.000, CAST('2026-01-02' AS DATE)" ..
      (sysbench.opt.db_driver == "mysql" and [[, 1e300, -0.25e0, 18446744073709551615,
         CAST('2026-01-02 03:04:05.123456' AS DATETIME(3)), CAST('-112:34:56' AS TIME)]]
       or [[, 1e300::float8, true, ARRAY[1, 2], '{"a": 1}'::jsonb, interval '1 day']]))
   local prepared, sent = odd:execute():fetch_row(), con:query(odd.sql):fetch_row()
   for place = 1, 8 do
      assert(prepared[place] == sent[place], prepared[place] .. " and " .. sent[place])
   end
   con:disconnect()
   print("all seen")
end

local attempts = 0
function thread_init() con = sysbench.sql.driver():connect() end
function event()
   attempts = attempts + 1
   if attempts % 2 == 1 then
      pcall(con.query, con, "SELECT nothing FROM nowhere")
      error({ errcode = sysbench.error.RESTART_EVENT, connection = con })
   end
   con:query("SELECT 1")
end
"#;

#[test]
fn scripts_see_values_and_errors_as_in_sysbench() {
    for build in ["mysql@9", "mysql@5.6.24", "mariadb@11.8", "postgres@18"] {
        let lab = Lab::with_small_logs();
        lab.write("values.lua", VALUES);
        let up = Up::new(&lab, build);
        assert_eq!(up.succeed("values.lua prepare"), "all seen\n", "{build}");
        let report = up.succeed("values.lua --events=10 --time=0 run");
        assert_eq!(count(&report, "read:"), 10, "{report}");
        assert_eq!(count(&report, "ignored errors:"), 10, "{report}");
        let report = up.succeed("values.lua --time=2 --rate=20 --report-interval=1 run");
        // A busy host may look late, and come to few of the forty events.
        let is_told = |line: &str| line.starts_with("[ ") && line.contains("s ] thds: 1 tps: ");
        assert!(report.lines().any(is_told), "{report}");
        assert!((1..=80).contains(&count(&report, "transactions:")), "{report}");
    }
}

#[test]
fn what_goes_wrong_is_one_sentence_with_file_and_line() {
    let lab = Lab::new();
    let up = Up::new(&lab, "postgres@18");
    let check = |script: &str, command: &str, expected: &str| {
        lab.write("x.lua", script);
        let error = up.fail(&format!("x.lua {command}"));
        assert!(error.contains(expected), "{script}: {error}");
    };
    check("x = = 1", "run", "x.lua:1: unexpected symbol near '='");
    check("\nfunction event() nothing.at = 1 end", "run", "x.lua:2: attempt to index global");
    check("function thread_init() end", "run", "`x.lua` has no function `event`");
    check("function event() end", "prepare", "has no command `prepare`; it has `run`");
    check(
        "function prepare() return false end",
        "prepare",
        "`prepare` of `x.lua` returned `false`",
    );
    check("require('nowhere')", "run", "module 'nowhere' not found");
    check(
        "function event() sysbench.rand.odd(1) end",
        "run",
        "`sysbench.rand.odd` is not supported",
    );
    check("function event() db_query('x') end", "run", "x.lua:1: `db_query` is not supported");
    check("\nfunction event() os.exit(7) end", "run", "x.lua:2: the script called os.exit(7)");
    check("ffi = require('ffi') ffi.new('int')", "run", "x.lua:1: `ffi.new` is not supported");
    let declares = "sysbench.cmdline.options = { tables = {'', 1} } function event() end";
    check(declares, "--table-size=1 run", "there is no option `--table-size`");
    let slow = "local ffi = require('ffi') function event() ffi.C.usleep(9e6) end";
    check(slow, "--time=1 --forced-shutdown=1 run", "`--forced-shutdown` ended them");
    let late = "local ffi = require('ffi') function thread_init() ffi.C.usleep(9e6) end \
                function event() end";
    check(late, "--thread-init-timeout=1 run", "not ready within 1 s, `--thread-init-timeout`");
    let query = "function prepare()\n sysbench.sql.driver():connect():query('SELECT a') end";
    check(query, "prepare", "x.lua:2: SQL error 42703: column \"a\" does not exist, in `SELECT a`");
    let parallel = "function load()\n if sysbench.tid == 1 then error('no room') end end\n\
                    sysbench.cmdline.commands = { load = { load, true } }";
    check(parallel, "--threads=3 load", "x.lua:2: no room");
    let kind = "function prepare()\n local c = sysbench.sql.driver():connect()\n\
                local s = c:prepare('SELECT ?')\n\
                s:bind_create(sysbench.sql.type.DATE) end";
    check(kind, "prepare", "x.lua:4: a parameter of type `DATE` is not supported");
    assert!(up.fail("none.lua run").contains("there is no script `none.lua`"));
    assert!(up.fail("x.lua --threads 4 run").contains("write `--threads=4`"));
    assert!(up.fail("x.lua --mysql-ssl=on run").contains("`--mysql-ssl` is not supported"));
}

/// What scripts print that speak to no server: options, reports and calls are those of sysbench.
#[test]
fn a_script_without_a_server_has_options_and_reports_of_sysbench() {
    let lab = Lab::new();
    let succeed = |script: &str, words: &[&str]| {
        lab.write("x.lua", script);
        lab.succeed(&[&["sysbench", "x.lua"], words].concat())
    };
    let options = "function event()\n\
                   assert(sysbench.opt.old == '7' and old == '7' and threads == 2)\n\
                   assert(test == 'x.lua') end";
    let report = succeed(options, &["--old=7", "--num-threads=2", "--max-requests=4", "run"]);
    assert_eq!(count(&report, "total number of events:"), 4, "{report}");
    assert!(report.contains("Number of threads: 2\n\nGeneral statistics:\n"), "{report}");
    let some = ["--events=9", "--histogram", "--mysql-ssl=off", "run"];
    let report = succeed("function event() end", &some);
    assert!(report.contains("Latency histogram (values are in milliseconds)\n"), "{report}");
    let bars = report.lines().filter_map(|line| line.split_once(" |")?.1.split_once(' '));
    let counted: u64 = bars.map(|(_, count)| count.trim().parse::<u64>().unwrap()).sum();
    assert_eq!(counted, 9, "{report}");
    assert_eq!(succeed("function event() end", &["--events=1", "--verbosity=0", "run"]), "");
    let json = "sysbench.hooks.report_intermediate = sysbench.report_json\n\
                sysbench.hooks.report_cumulative = function() end\n\
                local ffi = require('ffi') function event() ffi.C.usleep(1000) end";
    let report = succeed(json, &["--time=3", "--report-interval=1", "run"]);
    let array = report.split_once("\n\n").unwrap().1;
    let seconds: Vec<serde_json::Value> = serde_json::from_str(array).unwrap();
    assert!(seconds.len() >= 2 && seconds[0]["threads"] == 1, "{report}");
    let calls = "function event() print((debug.traceback('here'):gsub('\\n.*', ''))) end";
    assert!(succeed(calls, &["--events=1", "run"]).contains("here\n"));
}

#[test]
fn ctrl_c_ends_a_script_also_in_an_endless_loop() {
    let lab = Lab::new();
    let up = Up::new(&lab, "postgres@18");
    lab.write("loop.lua", "function event() print('in') while true do end end");
    let busy = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                local first = true\n\
                function event() if first then print('in') end first = false\n\
                con:query('SELECT 1') end";
    lab.write("busy.lua", busy);
    for script in ["loop.lua", "busy.lua"] {
        let out = lab.path("script");
        let mut command = up.command(&format!("{script} --time=0 run"));
        command.stdout(File::create(&out).unwrap()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let read = || std::fs::read_to_string(&out).unwrap();
        eventually("the script works", || read().contains("in\n").then_some(()));
        send("-INT", &child.id().to_string());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{}", read());
        assert!(read().contains("total number of events:"), "{}", read());
    }
}

#[test]
fn a_password_in_the_command_line_is_taken_with_a_note() {
    let lab = Lab::new();
    lab.write("x.lua", "function prepare() print(sysbench.opt.mysql_password) end");
    let output = lab.run(&["sysbench", "x.lua", "--mysql-password=abc", "prepare"]);
    assert_eq!(text(&output.stdout), "abc\n");
    assert!(text(&output.stderr).starts_with("note: others on this host can read"));
    let mut command = lab.command(&["sysbench", "x.lua", "prepare"]);
    let output = command.env("MYSQL_PWD", "hidden").output().unwrap();
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("hidden\n".into(), String::new()));
}
