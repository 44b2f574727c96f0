//! Parameters, presets, index and settle phases of suites.

use crate::{Host, catalog, draft};
use model::plan::{PhaseKind, Plan};

const SUITE: &str = r#"help = "h"
order = "fixed"
[parameters]
base = 10
twice = "2 * base"
[preset.small]
help = "less of it"
base = 3
rows = 500
[preset.many]
clients = 4
twice = "max(base, 100)"
[[phase]]
workload = "random-points"
parameters = { range = "twice" }
seconds = "60 + base"
[[phase]]
name = "make"
kind = "index"
[[phase]]
kind = "settle"
floor_seconds = "base"
"#;

fn planned(suite: &str, experiment: &str) -> Result<Plan, plan::Error> {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("own.toml"), suite).unwrap();
    let text = format!(
        "question = \"Which?\"\ndesign = \"classic\"\nsuite = \"./own.toml\"\n{experiment}\n\
         [factors]\nbuild = [\"sqlite\"]\n"
    );
    plan::plan(&draft(folder.path(), &text)?, &catalog(), &Host)
}

#[test]
fn the_experiment_is_over_the_preset_over_the_suite() {
    let check = |experiment: &str, expected: (i64, f64, u64, u32)| {
        let plan = planned(SUITE, experiment).unwrap();
        let phase = &plan.phases[0];
        let got = (phase.parameters["range"], phase.seconds, plan.experiment.rows, phase.clients);
        assert_eq!(got, expected, "{experiment}");
    };
    check("", (20, 70.0, 1_000_000, 1));
    check("preset = \"small\"", (6, 63.0, 500, 1));
    check("preset = \"many\"", (100, 70.0, 1_000_000, 4));
    check("preset = \"small\"\nrows = 7\nparameters = { base = 5 }", (10, 65.0, 7, 1));
    check("parameters = { twice = 1 }", (1, 70.0, 1_000_000, 1));
    check("preset = \"small\"\nparameters = { range = 8 }", (8, 63.0, 500, 1));
}

#[test]
fn index_and_settle_phases_belong_to_the_phase_before_them() {
    let plan = planned(SUITE, "preset = \"small\"").unwrap();
    let [points, index, settle] = plan.phases.as_slice() else { panic!("{:?}", plan.phases) };
    assert_eq!((index.name.as_str(), index.kind), ("make", PhaseKind::Index));
    let workload = |phase: &model::plan::Phase| phase.script.workload.clone();
    assert_eq!([index, settle].map(workload), [points, points].map(workload));
    assert_eq!((index.group.as_str(), index.seconds), ("index", 0.0));
    let waits = settle.settle.as_ref().unwrap();
    assert_eq!((waits.floor_seconds, waits.ceiling_seconds), (3.0, 12.0));
    assert_eq!((settle.seconds, &points.settle), (3.0, &None));
    assert_eq!(plan.blocks[0].orders[1], [[0]], "it is built once");
}

#[test]
fn the_values_of_a_suite_are_in_the_plan_of_every_phase() {
    let plan = planned(SUITE, "").unwrap();
    assert!(plan.phases.iter().all(|phase| phase.parameters["twice"] == 20));
}

/// Checks the message about the suite with `old` replaced by `new`.
fn check(name: &str, (old, new): (&str, &str), expected: &str) {
    assert!(SUITE.contains(old), "{old}");
    let planned = planned(&SUITE.replacen(old, new, 1), "preset = \"small\"");
    let got = planned.map_or_else(|error| error.to_string(), |_| String::new());
    assert!(got.contains(expected), "{name}:\n  got      {got}\n  expected {expected}");
    assert!(!got.is_empty() && !got.contains('\n') && !got.ends_with('.'), "{name}: {got}");
}

#[test]
fn mistakes_in_parameters_and_presets_are_named() {
    check(
        "later parameter",
        ("base = 10", "base = \"twice\""),
        "own.toml:4`: `twice` names `twice`, which is not a parameter",
    );
    check(
        "reserved",
        ("base = 10", "rows = 10"),
        "own.toml:4`: every phase has a parameter `rows`",
    );
    check(
        "preset's parameter",
        ("base = 3", "bas = 3"),
        "own.toml:8`: unknown parameter of the suite `bas`; did you mean `base`?",
    );
    check(
        "preset's rows",
        ("rows = 500", "rows = 0"),
        "the preset's `rows` is 0; it must be at \
        least 1",
    );
    check(
        "preset's tables",
        ("rows = 500", "tables = 5"),
        "own.toml:9`: unknown parameter of the suite `tables`",
    );
    check("preset", ("[preset.small]", "[preset.smaller]"), "unknown preset of the suite `small`");
}

#[test]
fn mistakes_in_phases_are_named() {
    check("key", ("order =", "ordr ="), "own.toml:2`: unknown key `ordr`; did you mean `order`?");
    check(
        "key of a phase",
        ("floor_seconds", "flor_seconds"),
        "unknown key `flor_seconds`; did you mean `floor_seconds`?",
    );
    check(
        "kind",
        ("kind = \"index\"", "kind = \"idex\""),
        "`phase.kind` must be `measure`, `warmup`, `settle` or `index`, not `idex`; did you mean \
         `index`?",
    );
    check(
        "floor of another phase",
        ("seconds = \"60 + base\"", "floor_seconds = 1"),
        "own.toml:16`: `floor_seconds` belongs to a settle phase only",
    );
    check(
        "servers of another phase",
        ("seconds = \"60 + base\"", "servers = [\"postgres\"]"),
        "own.toml:16`: `servers` belongs to a settle phase only",
    );
    check(
        "a server that there is not",
        ("floor_seconds = \"base\"", "servers = [\"postgress\"]"),
        "unknown server of a settle phase `postgress`; did you mean `postgres`?",
    );
    check(
        "mode of a settle phase",
        ("floor_seconds = \"base\"", "mode = \"text\""),
        "own.toml:22`: `mode` belongs to phases that execute a workload",
    );
    check(
        "length of a settle phase",
        ("floor_seconds = \"base\"", "seconds = 60"),
        "own.toml:22`: `seconds` belongs to phases that execute a workload; a settle phase has \
         `floor_seconds`",
    );
    check(
        "mode",
        ("seconds = \"60 + base\"", "mode = \"txt\""),
        "`phase.mode` must be `prepared` or `text`, not `txt`; did you mean `text`?",
    );
    check(
        "a parameter that the workload lacks",
        ("{ range = \"twice\" }", "{ rnage = \"twice\" }"),
        "the phase `random-points` sets `rnage`, which the workload `random-points` does not have",
    );
    check("order", ("order = \"fixed\"\n", ""), "with index phases needs `order = \"fixed\"`");
    check("seconds", ("60 + base", "base - 3"), "`seconds` must be at least 1, not `0`");
    check(
        "ceiling",
        ("floor_seconds = \"base\"", "ceiling_seconds = 5"),
        "the phase `settle` waits 60 to 5 seconds",
    );
    let first = SUITE.find("[[phase]]").unwrap()..SUITE.find("[[phase]]\nname = \"make\"").unwrap();
    check(
        "index first",
        (&SUITE[first], ""),
        "no phase is before it; name the `workload` whose indexes are built",
    );
}

#[test]
fn servers_may_have_configurations_of_their_own() {
    let text = |extra: &str| {
        format!(
            "question = \"Which?\"\nsuite = \"quick\"\n{extra}\n[servers.rocks]\n\
             server = \"mariadb\"\nversion = \"10.11\"\nconfig = \"myrocks\"\n"
        )
    };
    let factors = "[factors]\nbuild = [\"sqlite\", \"rocks\"]\n";
    let plan = crate::plan_of(&text(factors)).unwrap();
    let configs: Vec<&str> = plan.subjects.iter().map(|one| one.config.name.as_str()).collect();
    assert_eq!(configs, ["base", "myrocks"]);
    assert_eq!(plan.subjects[1].label, "rocks");
    let both = crate::plan_of(&text(&format!("{factors}config = [\"base\"]\n"))).unwrap_err();
    let expected = "the server `rocks` has a `config` and the experiment the factor `config`";
    assert!(both.to_string().contains(expected), "{both}");
    let unknown = text(factors).replace("myrocks", "myrock");
    let unknown = crate::plan_of(&unknown).unwrap_err().to_string();
    let expected = "mine.toml:9`: unknown config `myrock` of `mariadb`; did you mean `myrocks`?";
    assert!(unknown.contains(expected), "{unknown}");
}

#[test]
fn tables_that_nothing_names_are_found() {
    let text = "question = \"Which?\"\nsuite = \"quick\"\n[factors]\nbuild = [\"sqlite\"]\n\
                config = [\"mine\"]\n[configs.mine]\nextends = \"common\"\n[configs.common]\n\
                extends = \"rollback\"\n[configs.lost]\nextends = \"rollback\"\n\
                [servers.other]\nserver = \"postgres\"\nversion = \"18\"\n";
    let folder = tempfile::tempdir().unwrap();
    let draft = crate::draft(folder.path(), text).unwrap();
    assert_eq!(draft.unused(), ["configs.lost", "servers.other"]);
}

#[test]
fn code_is_what_the_file_names_and_not_what_factors_make() {
    let check = |factors: &str, expected: bool| {
        let text = format!(
            "question = \"Which?\"\nsuite = \"quick\"\n[factors]\n{factors}\n\
             [servers.wrapped]\nserver = \"sqlite\"\nprefix = [\"nice\"]\n\
             [servers.mine]\nserver = \"postgres\"\nbasedir = \"/opt/mine\"\n\
             [servers.plain]\nserver = \"postgres\"\nversion = \"18\"\n\
             [servers.set]\nserver = \"postgres\"\nversion = \"18\"\n\
             environment = {{ LD_PRELOAD = \"/lib/x.so\" }}\n"
        );
        let folder = tempfile::tempdir().unwrap();
        let draft = crate::draft(folder.path(), &text).unwrap();
        assert_eq!(draft.brings_code(), expected, "{factors}");
    };
    let build = "build = [\"sqlite\"]\n";
    check(build, false);
    check("build = [\"plain\"]", false);
    check("build = [\"sqlite\", \"wrapped\"]", true);
    check("build = [\"mine\"]", true);
    check("build = [\"set\"]", true);
    for (factor, level, expected) in [
        ("cpu_set", "0", false),
        ("memory", "1G", false),
        ("allocator", "jemalloc", false),
        ("allocator", "/lib/x.so", true),
        ("compiler", "gcc-12", false),
        ("compiler", "/opt/cc", true),
        ("prefix", "", false),
        ("prefix", "nice", true),
        ("environment", "", false),
        ("environment", "A=1", true),
    ] {
        check(&format!("{build}{factor} = [\"{level}\"]"), expected);
    }
}

#[test]
fn a_server_that_is_attached_twice_is_found() {
    let twice = |other: &str| {
        let text = format!(
            "question = \"Which?\"\nsuite = \"quick\"\ndesign = \"classic\"\n[factors]\n\
             build = [\"a\", \"b\"]\n[servers.a]\nattach = {{ host = \"db\", user = \"x\" }}\n\
             [servers.b]\nattach = {{ {other} }}\n"
        );
        let folder = tempfile::tempdir().unwrap();
        let draft = crate::draft(folder.path(), &text).unwrap();
        draft.attached_twice().map(|names| names.map(str::to_owned))
    };
    assert_eq!(twice("host = \"db\", user = \"y\""), Some(["a", "b"].map(str::to_owned)));
    assert_eq!(twice("host = \"db\", port = 3307"), None);
}

#[test]
fn a_server_named_like_another_product_is_refused() {
    let text = "question = \"Which?\"\nsuite = \"quick\"\n[factors]\nbuild = [\"sqlite\"]\n\
                [servers.sqlite]\nserver = \"postgres\"\nversion = \"18\"\n";
    let error = crate::plan_of(text).unwrap_err().to_string();
    assert!(
        error.ends_with("`sqlite` is a name of another product than `postgres`: choose another")
    );
}

#[test]
fn keys_that_the_design_does_not_use_are_found() {
    let check = |lines: &str, expected: &[&str]| {
        let text = format!(
            "question = \"Which?\"\nsuite = \"quick\"\n{lines}\n[factors]\nbuild = [\"sqlite\"]\n"
        );
        let folder = tempfile::tempdir().unwrap();
        let draft = crate::draft(folder.path(), &text).unwrap();
        assert_eq!(draft.idle_keys().0, expected, "{lines}");
    };
    check("", &[]);
    check("slice_seconds = 1", &[]);
    check("read_seconds = 1\nslice_seconds = 1", &["read_seconds"]);
    check("design = \"classic\"\nread_seconds = 1", &[]);
    check("design = \"classic\"\nslice_seconds = 1", &["slice_seconds"]);
    check("design = \"classic\"\nrounds = 5", &["rounds"]);
    check("rounds = 5", &[]);
    check("at_once = 2", &["at_once"]);
    check("design = \"classic\"\nat_once = 2", &[]);
}

#[test]
fn sizes_and_lengths_that_nothing_follows_are_found() {
    let check = |lines: &str, sizes: &[&str], lengths: &[&str]| {
        let text = format!("question = \"Which?\"\n{lines}\n[factors]\nbuild = [\"sqlite\"]\n");
        let folder = tempfile::tempdir().unwrap();
        let draft = crate::draft(folder.path(), &text).unwrap();
        assert_eq!(draft.idle_sizes().0, sizes, "{lines}");
        assert_eq!(draft.idle_lengths(), lengths, "{lines}");
    };
    check("suite = \"quick\"\nrows = 5000\ntables = 2\nslice_seconds = 1", &[], &[]);
    check("suite = \"tpcc\"", &[], &[]);
    check("suite = \"tpcc\"\nrows = 5000\ntables = 2", &["rows", "tables"], &[]);
    check("suite = \"vectors\"\nrows = 5000", &["rows"], &[]);
    // Phases fill its tables, and their roles say when they end.
    let fills = "suite = \"insert-benchmark\"\ndesign = \"classic\"\nrows = 5000";
    check(fills, &[], &[]);
    check(&format!("{fills}\nread_seconds = 60"), &[], &["read_seconds"]);
}
