//! Users' own sysbench scripts as workloads.

use crate::{Host, catalog, draft};
use model::plan::Plan;
use plan::{Overrides, load_experiment};

const READS: &str = "-- common.lua:1\n";
const WRITES: &str = "-- common.lua:1\n--\n";
const OTHER: &str = "-- other.lua:7\n";

/// A plan over three scripts; two share their data.
fn planned(suite: &str, experiment: &str) -> Result<Plan, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("reads.lua", READS),
        ("writes.lua", WRITES),
        ("other.lua", OTHER),
        ("bare.lua", ""),
        ("s.toml", suite),
    ] {
        fs_err::write(folder.path().join(name), text).unwrap();
    }
    let text = format!("question = \"Which?\"\n{experiment}\n[factors]\nbuild = [\"mysql@9\"]\n");
    let planned =
        draft(folder.path(), &text).and_then(|draft| plan::plan(&draft, &catalog(), &Host));
    planned.map_err(|error| error.to_string())
}

fn of_suite(phases: &str, experiment: &str) -> Result<Plan, String> {
    let suite = format!("help = \"h\"\norder = \"fixed\"\n{phases}");
    planned(&suite, &format!("suite = \"./s.toml\"\n{experiment}"))
}

fn options(plan: &Plan, phase: usize) -> Vec<String> {
    let lua = plan.phases[phase].script.lua.as_ref().unwrap();
    lua.options.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

#[test]
fn scripts_with_one_prepare_share_their_data() {
    let list = "workloads = [\"./reads.lua\", \"./writes.lua\", \"./other.lua\"]";
    let plan = planned("", &format!("{list}\noptions = {{ \"table-size\" = 7 }}")).unwrap();
    let schemas: Vec<&str> = plan.schemas.iter().map(|schema| schema.name.as_str()).collect();
    assert_eq!(schemas, ["common", "other"]);
    let of: Vec<&str> = plan.phases.iter().map(|one| one.script.schema.as_str()).collect();
    assert_eq!(of, ["common", "common", "other"]);
    assert_eq!(options(&plan, 1), ["table_size=7"]);
    let made = plan.schemas[0].lua.as_ref().unwrap();
    assert_eq!((made.options["table_size"].as_str(), made.files.len()), ("7", 1));
    assert!(plan.phases.iter().all(|phase| phase.script.writes()));
    assert!(!plan.phases.iter().any(|phase| phase.script.changes_in_place()));
}

#[test]
fn an_experiment_may_name_the_script_that_makes_the_data_of_all() {
    let list = "workloads = [\"./reads.lua\", \"./other.lua\", \"./bare.lua\"]";
    let plan = planned("", &format!("{list}\nprepare = \"./writes.lua\"")).unwrap();
    let [schema] = plan.schemas.as_slice() else { panic!("{:?}", plan.schemas) };
    assert!(schema.lua.as_ref().unwrap().path.ends_with("writes.lua"));
    assert!(plan.phases.iter().all(|phase| phase.script.schema == schema.name));
    let error = planned("", &format!("{list}\nprepare = \"./bare.lua\"")).unwrap_err();
    assert!(error.contains("has no command `prepare`"), "{error}");
}

#[test]
fn options_of_a_phase_are_over_those_of_the_experiment_over_those_of_the_suite() {
    let suite = "options = { table_size = 5, skip_trx = true }\n\
                 [[phase]]\nworkload = \"./reads.lua\"\n\
                 [[phase]]\nname = \"again\"\nworkload = \"./reads.lua\"\n\
                 options = { skip_trx = false }\n";
    let plan = of_suite(suite, "options = { table_size = 9 }\nmode = \"text\"").unwrap();
    assert_eq!(options(&plan, 0), ["db_ps_mode=disable", "skip_trx=on", "table_size=9"]);
    assert_eq!(options(&plan, 1), ["db_ps_mode=disable", "skip_trx=off", "table_size=9"]);
}

#[test]
fn options_of_scripts_that_are_left_out_are_no_mistake() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("reads.lua"), READS).unwrap();
    let path = folder.path().join("mine.toml");
    let text = "question = \"Which?\"\nworkloads = [\"./reads.lua\", \"point-query\"]\n\
                options = { table_size = 7 }\n[factors]\nbuild = [\"mysql@9\"]\n";
    fs_err::write(&path, text).unwrap();
    let only = vec!["point-query".to_owned()];
    let overrides = Overrides { only, ..Overrides::default() };
    let draft = load_experiment(path.to_str().unwrap(), &catalog(), &overrides).unwrap();
    assert_eq!(plan::plan(&draft, &catalog(), &Host).unwrap().phases.len(), 1);
}

#[test]
fn a_script_is_shown_as_the_workload_that_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reads.lua").display().to_string();
    fs_err::write(&path, READS).unwrap();
    assert_eq!(catalog().text(plan::Kind::Workload, &path).unwrap(), READS);
    assert!(catalog().text(plan::Kind::Experiment, &path).is_err());
}

#[test]
fn scripts_are_known_before_a_plan_executes_them() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["reads.lua", "writes.lua"] {
        fs_err::write(folder.path().join(name), READS).unwrap();
    }
    let check = |keys: &str, expected: &[&str]| {
        let text = format!("question = \"Which?\"\n{keys}\n[factors]\nbuild = [\"mysql@9\"]\n");
        let draft = draft(folder.path(), &text).unwrap();
        let names = draft.scripts().into_iter().filter_map(|path| path.rsplit('/').next());
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        assert_eq!(names, expected);
    };
    check("workloads = [\"point-query\"]", &[]);
    let list = "workloads = [\"./reads.lua\", \"point-query\"]";
    check(list, &["reads.lua"]);
    check(&format!("{list}\nprepare = \"./writes.lua\""), &["reads.lua", "writes.lua"]);
}

#[test]
fn what_cannot_be_is_refused() {
    let check = |planned: Result<Plan, String>, expected: &str| {
        let error = planned.unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    let reads = "workloads = [\"./reads.lua\"]\n";
    check(planned("", "workloads = [\"./none.lua\"]"), "none.lua");
    let unknown = format!("{reads}options = {{ tabel_size = 7 }}");
    check(planned("", &unknown), "`tabel_size`; did you mean `table_size`?");
    let none = "workloads = [\"point-query\"]\noptions = { table_size = 7 }";
    check(planned("", none), "no workload is one");
    let unused = "workloads = [\"point-query\"]\nprepare = \"./reads.lua\"";
    check(planned("", unused), "`prepare` makes the data of scripts, and no workload is one");
    let differ = "[[phase]]\nworkload = \"./reads.lua\"\noptions = { table_size = 5 }\n\
                  [[phase]]\nworkload = \"./writes.lua\"\noptions = { table_size = 6 }\n";
    check(of_suite(differ, ""), "say in `[options]` which it gets");
    let unnamed = "[[phase]]\nworkload = \"./reads.lua\"\noptions = { skip_trx = true }\n\
                   [[phase]]\nworkload = \"./reads.lua\"\noptions = { skip_trx = false }\n";
    check(of_suite(unnamed, ""), "two phases are named `reads`; give one a `name` in the suite");
    let declared = "[[phase]]\nworkload = \"point-query\"\noptions = { table_size = 5 }\n";
    check(of_suite(declared, ""), "`options` are for a phase whose `workload` is a script");
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("reads.lua"), READS).unwrap();
    let sqlite = format!("question = \"?\"\n{reads}factors = {{ build = [\"sqlite\"] }}");
    let plan =
        draft(folder.path(), &sqlite).and_then(|draft| plan::plan(&draft, &catalog(), &Host));
    check(plan.map_err(|error| error.to_string()), "drivers for MySQL, MariaDB and PostgreSQL");
}
