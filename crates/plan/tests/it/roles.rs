//! What workloads may say about roles, kept values and what comes with them.

use crate::{Host, catalog, draft};
use model::workload::{Arrival, Generator, RoleEnd, Spacing};

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
    let workload = &plan.workloads[0];
    let phase = &plan.phases[0];
    assert_eq!(workload.connections(&phase.parameters).unwrap(), 6);
    assert_eq!((phase.clients, phase.seconds, phase.arrival), (1, 30.0, Arrival::Closed));
    assert_eq!(workload.lead, "b");
    assert!(workload.ends_by_roles());
    let pair = workload.roles[1].pair.as_ref().unwrap();
    assert_eq!((pair.role.as_str(), pair.lead), ("a", 4));
    assert_eq!(workload.roles[1].end, RoleEnd::With("a".to_owned()));
    let [keep, using] = workload.ops.as_slice() else { panic!("{:?}", workload.ops) };
    assert_eq!(keep.statements[0].every, Some(7.into()));
    assert_eq!(using.statements[0].advance.as_ref().unwrap().by.0, "pace");
    let filler = &using.statements[0].args[1].value;
    assert!(matches!(filler, Generator::Filler { random_percent: 10, .. }), "{filler:?}");
}

#[test]
fn the_only_role_gives_the_phase_its_arrival() {
    let op = "[[op]]\nname = \"x\"\nsql = \"SELECT 1\"\n";
    let role =
        "[[role]]\nname = \"r\"\nops = [\"x\"]\narrival = { per_second = \"2 * clients\" }\n";
    let plan = planned(&format!("{op}{role}")).unwrap();
    let even = Arrival::Open { per_second: 2.0, spacing: Spacing::Even };
    assert_eq!((plan.phases[0].arrival, plan.phases[0].seconds), (even, 180.0));
    assert!(!plan.workloads[0].ends_by_roles());
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
        "own.toml`: the roles `b` and `a` are a pair with 2 and 3 clients; give both the same \
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
        "`end.seconds` of the role `a` must be from 1 to 604800; `pace - 10` is 0",
    );
    check(
        "rate of nothing",
        &with("\"pace * 2\"", "\"pace / 20\""),
        "`per_second` of the role `a` must be from 1 to 1000000000000; `pace / 20` is 0",
    );
    check("rate", &with("\"pace * 2\"", "\"pce * 2\""), "`pce`, which is not a parameter");
    check(
        "no clients",
        &with("clients = 3\n", "clients = 0\n"),
        "`clients` of the role `b` must be from 1 to 65536, not `0`",
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
        "unknown captured value `least`; there is none",
    );
    check("every", &with("every = 7", "every = 0"), "`every` must be at least 1, not `0`");
    check(
        "random_percent",
        &with("random_percent = 10", "random_percent = 101"),
        "`random_percent` is 101; it must be from 0 to 100",
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
