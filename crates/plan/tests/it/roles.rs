//! What workloads may say about roles, kept values and what comes with them.

use crate::{Host, catalog, draft};
use model::{
    script::{End, Pairing, Value},
    workload::{Arrival, Spacing},
};
use values::generator::Filler;

const EXPERIMENT: &str = "question = \"Which?\"\ndesign = \"classic\"\n\
                          workloads = [\"./own.toml\"]\n[factors]\nbuild = [\"sqlite\"]\n";

fn planned(text: &str) -> Result<model::plan::Plan, plan::Error> {
    let folder = tempfile::tempdir().unwrap();
    let head = "help = \"h\"\nschema = \"sbtest\"\n";
    fs_err::write(folder.path().join("own.toml"), format!("{head}{text}")).unwrap();
    plan::plan(&draft(folder.path(), EXPERIMENT)?, &catalog(), &Host)
}

fn check(name: &str, text: &str, expected: &str) {
    let got = planned(text).map_or_else(|error| error.to_string(), |_| String::new());
    assert!(got.contains(expected), "{name}:\n  got      {got}\n  expected {expected}");
    assert!(!got.is_empty() && !got.contains('\n') && !got.ends_with('.'), "{name}: {got}");
}

/// A workload with two roles, `a` of three clients that keep a value and `b` that uses it.
const TWO: &str = r#"lead = "b"
[parameters]
pace = 10
[[op]]
name = "keep"
sql = "SELECT MIN(id) FROM {table}"
capture = "least"
every = 7
[[op]]
name = "use"
draw.at = { between = ["least", "least"] }
sql = "SELECT c FROM {table} WHERE id = ? AND pad <> ?"
args = [{ draw = "at" }, { filler = ["pace", 20], random_percent = 10 }]
advance = { name = "least", by = "pace" }
[[role]]
name = "a"
ops = ["keep"]
clients = "clients * 3"
arrival = { per_second = "pace * 2" }
end = { seconds = 30 }
[[role]]
name = "b"
ops = ["use"]
clients = 3
end = { with = "a" }
pair = { with = "a", lead = 4 }
"#;

#[test]
fn a_workload_without_roles_may_say_when_operations_start() {
    let op = "[[op]]\nname = \"a\"\nsql = \"SELECT c FROM {table}\"\n";
    let arrival = |text: &str| planned(&format!("{text}\n{op}")).unwrap().phases[0].arrival;
    assert_eq!(arrival("arrival = \"closed\""), Arrival::Closed);
    let open = Arrival::Open { per_second: 5.0, spacing: Spacing::Even };
    assert_eq!(arrival("arrival = { per_second = 5 }"), open);
    let fault = "own.toml:3`: each role has an `arrival` of its own; write it there";
    check("arrival beside roles", &format!("arrival = \"closed\"\n{TWO}"), fault);
    let none = format!("arrival = {{ per_second = 0 }}\n{op}");
    check("no rate", &none, "own.toml:3`: `per_second` is 0; it must be above 0");
}

#[test]
fn roles_and_kept_values_are_read() {
    let plan = planned(TWO).unwrap();
    let (phase, script) = (&plan.phases[0], &plan.phases[0].script);
    assert_eq!(script.connections(), 6);
    assert_eq!((phase.clients, phase.seconds, phase.arrival), (1, 30.0, Arrival::Closed));
    assert!(script.ends_by_itself());
    let [keeps, uses] = script.roles.as_slice() else { panic!("{:?}", script.roles) };
    assert_eq!((keeps.clients, keeps.leads, keeps.end), (3, false, End::Seconds(30)));
    assert_eq!(keeps.arrival, Arrival::Open { per_second: 20.0, spacing: Spacing::Even });
    assert_eq!((uses.clients, uses.leads, uses.end), (3, true, End::With(0)));
    assert_eq!(uses.pairing, Some(Pairing { role: 0, lead: 4 }));
    let [keep] = keeps.ops.as_slice() else { panic!("{:?}", keeps.ops) };
    let [using] = uses.ops.as_slice() else { panic!("{:?}", uses.ops) };
    assert_eq!(keep.statements[0].every, Some(7));
    assert_eq!(using.statements[0].advance.as_ref().unwrap().by, 10);
    let filler = &using.statements[0].args[1].value;
    assert_eq!(*filler, Value::from(Filler { low: 10, high: 20, random_percent: 10 }));
}

#[test]
fn a_rate_in_rows_need_not_be_a_multiple_of_the_statement() {
    let insert = |end: &str, arrival: &str| {
        let op = "[[op]]\nname = \"x\"\nsql = \"INSERT INTO {table} (k) VALUES {rows}\"\n\
                  rows_per_statement = 30\nargs = [{ integer = 1 }]\n";
        format!("{op}[[role]]\nname = \"r\"\nops = [\"x\"]\nend = {end}\narrival = {arrival}\n")
    };
    let text = insert("{ rows = 1000 }", "{ per_second = 120, rows = 50 }");
    let plan = planned(&text).unwrap();
    let role = &plan.phases[0].script.roles[0];
    assert_eq!(role.arrival, Arrival::Open { per_second: 2.4, spacing: Spacing::Even });
    // 1000 rows in statements of 30.
    assert_eq!((role.end, role.operations()), (End::Rows(1000), Some(34)));
    let none = text.replace("rows = 50", "rows = 0");
    let least = "own.toml:12`: `arrival.rows` of the role `r` must be from 1 to 1000000000000";
    check("no rows", &none, least);
    let reading = text.replace("INSERT INTO {table} (k) VALUES {rows}", "SELECT {rows}");
    let none = "own.toml:11`: it ends after a number of rows, but its operations write none; end \
                it after operations or seconds";
    check("rows of nothing", &reading, none);
}

#[test]
fn the_only_role_gives_the_phase_its_arrival() {
    let op = "[[op]]\nname = \"x\"\nsql = \"SELECT 1\"\n";
    let role =
        "[[role]]\nname = \"r\"\nops = [\"x\"]\narrival = { per_second = \"2 * clients\" }\n";
    let plan = planned(&format!("{op}{role}")).unwrap();
    let even = Arrival::Open { per_second: 2.0, spacing: Spacing::Even };
    assert_eq!((plan.phases[0].arrival, plan.phases[0].seconds), (even, 180.0));
    let role = &plan.phases[0].script.roles[0];
    // Nobody says when it ends, so the length of the phase does.
    assert_eq!((role.arrival, role.end), (even, End::Stretch));
}

#[test]
fn mistakes_in_roles_are_named() {
    let with = |old: &str, new: &str| {
        assert!(TWO.contains(old), "{old}");
        TWO.replace(old, new)
    };
    check("lead", &with("lead = \"b\"", "lead = \"c\""), "own.toml:3`: unknown role `c`; known:");
    check("key of a role", &with("pair =", "pairs ="), "unknown key `pairs`; did you mean `pair`?");
    check("no lead", &with(", lead = 4", ""), "the key `lead` is missing; add it");
    check(
        "partner",
        &with("with = \"a\", lead", "with = \"aa\", lead"),
        "own.toml:28`: unknown role `aa`; known: `a`, `b`",
    );
    check(
        "own partner",
        &with("with = \"a\", lead", "with = \"b\", lead"),
        "`b` cannot be paired with itself; name another role",
    );
    check(
        "unequal partners",
        &with("clients = 3\n", "clients = 2\n"),
        "own.toml:28`: the roles `b` and `a` are a pair with 2 and 3 clients; give both the same \
            number",
    );
    check(
        "endless",
        &with("end = { seconds = 30 }", "end = { with = \"b\" }"),
        "the end of `a` waits for itself; give one role its own end",
    );
    check(
        "end of nothing",
        &with("seconds = 30", "seconds = \"pace - 10\""),
        "own.toml:22`: `end.seconds` of the role `a` must be from 1 to 604800; `pace - 10` is 0",
    );
    check(
        "rate of nothing",
        &with("\"pace * 2\"", "\"pace / 20\""),
        "own.toml:21`: `per_second` of the role `a` must be from 1 to 1000000000000; `pace / 20` \
         is 0",
    );
    check("rate", &with("\"pace * 2\"", "\"pce * 2\""), "`pce`, which is not a parameter");
    check(
        "no clients",
        &with("clients = 3\n", "clients = 0\n"),
        "own.toml:26`: `clients` of the role `b` must be from 1 to 65536, not `0`",
    );
    check(
        "operation twice",
        &with("ops = [\"use\"]", "ops = [\"use\", \"use\"]"),
        "own.toml:25`: the role has `use` twice; write it once",
    );
    check(
        "idle operation",
        &with(
            "[[role]]\nname = \"a\"",
            "[[op]]\nname = \"idle\"\nsql = \"SELECT 1\"\n[[role]]\nname = \"a\"",
        ),
        "no role executes `idle`; add it to the `ops` of one",
    );
}

#[test]
fn the_work_of_a_role_is_enough_for_every_round() {
    let message = |end: &str, keys: &str| {
        let folder = tempfile::tempdir().unwrap();
        let workload = format!(
            "help = \"h\"\nschema = \"sbtest\"\n[[op]]\nname = \"x\"\nsql = \"SELECT 1\"\n\
             [[role]]\nname = \"r\"\nops = [\"x\"]\nend = {{ {end} }}\n"
        );
        fs_err::write(folder.path().join("own.toml"), workload).unwrap();
        let text = EXPERIMENT.replace("design = \"classic\"", keys);
        let planned = draft(folder.path(), &text)
            .and_then(|draft| plan::plan(&draft, &catalog(), &Host).map(|_| String::new()));
        planned.unwrap_or_else(|error| error.to_string())
    };
    let ends = "the role `r` of the phase `own` ends after 1 second, but each of 2 rounds \
                needs one at least: lower `rounds`, or give the role more to do";
    let got = message("seconds = 1", "");
    assert!(got.contains("own.toml`: ") && got.ends_with(ends), "{got}");
    assert!(message("operations = 2", "rounds = 3").contains("ends after 2 operations"));
    assert_eq!(message("seconds = 1", "rounds = 1"), "");
    assert_eq!(message("operations = 2", ""), "");
    assert_eq!(message("operations = 1", "design = \"classic\""), "", "it is not cut");
}

#[test]
fn mistakes_with_kept_values_are_named() {
    let with = |old: &str, new: &str| {
        assert!(TWO.contains(old), "{old}");
        TWO.replace(old, new)
    };
    check(
        "bound",
        &with("[\"least\", \"least\"]", "[\"least\", \"most\"]"),
        "own.toml:13`: unknown captured value `most`; there is only `least`",
    );
    check(
        "advance",
        &with("name = \"least\", by", "name = \"lest\", by"),
        "unknown captured value `lest`; did you mean `least`?",
    );
    // The same role draws either operation, so that nothing says which one comes first.
    check(
        "same role",
        &with("ops = [\"keep\"]", "ops = [\"keep\", \"use\"]").replace(
            "[[role]]\nname = \"b\"\nops = [\"use\"]\n",
            "[[role]]\nname = \"b\"\nops = [\"keep\", \"use\"]\n",
        ),
        "own.toml:13`: `least` is captured in another operation of the same role, or behind",
    );
    check(
        "every",
        &with("every = 7", "every = 0"),
        "own.toml:10`: `every` must be at least 1, not `0`",
    );
    check(
        "random_percent",
        &with("random_percent = 10", "random_percent = 101"),
        "`random_percent` must be from 0 to 100, not `101`",
    );
    check(
        "random_percent of something else",
        &with("{ draw = \"at\" }", "{ draw = \"at\", random_percent = 1 }"),
        "`random_percent` belongs to `filler` only",
    );
    check("no now", &with("{ draw = \"at\" }", "{ now = false }"), "`now` can only be true");
    check(
        "filler",
        &with("[\"pace\", 20]", "[\"pace\", 5]"),
        "from `pace` to `5` is from 10 to 5, which holds nothing",
    );
    check("kind", &with("between =", "betwen ="), "unknown key `betwen`; did you mean `between`?");
}
