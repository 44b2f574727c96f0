//! Users' own sysbench scripts as workloads of experiments, on real servers.

use crate::lab::{Lab, known, text};

const SHOP: &str = include_str!("lua_workloads/shop.lua");
const SHOP_COMMON: &str = include_str!("lua_workloads/shop_common.lua");

/// A folder with the shop, and an experiment over it.
fn shop(experiment: &str) -> Lab {
    let lab = Lab::with_small_logs();
    lab.write("shop.lua", SHOP);
    lab.write("shop_common.lua", SHOP_COMMON);
    let head = "question = \"What does an order cost?\"\nblocks = 1\nrounds = 2\n\
                slice_seconds = 0.3\nwarmup_seconds = 0.1\n";
    lab.write("shop.toml", &format!("{head}{experiment}"));
    lab
}

fn measured(lab: &Lab) -> Vec<serde_json::Value> {
    let slices = lab.slices().into_iter();
    slices.filter(|slice| slice["state"] == "measured").collect()
}

/// Each event has six statements: two read, two change rows.
fn check_work(lab: &Lab) {
    let slices = measured(lab);
    assert!(!slices.is_empty());
    for slice in &slices {
        let work = &slice["work"];
        let of = |key: &str| work[key].as_u64().unwrap();
        assert_eq!((of("failed"), of("dropped")), (0, 0), "{work}");
        let events = of("succeeded");
        assert!(events > 0, "{work}");
        if of("retries") == 0 {
            assert_eq!([of("reads"), of("writes")], [2 * events, 2 * events], "{work}");
            assert_eq!(of("rows_read"), 11 * events, "{work}");
        }
        assert_eq!(work["ops"][0]["name"], "event", "{work}");
    }
}

const INTERLEAVED: &str =
    "workloads = [\"./shop.lua\"]\noptions = { customers = 200 }\n[factors]\n";

fn interleaved(builds: &str, variants: &[&str]) {
    let lab = shop(&format!("{INTERLEAVED}build = [{builds}]\nclients = [1, 8]\n"));
    lab.succeed(&["run", "shop.toml", "--counts", "none", "--progress", "none"]);
    check_work(&lab);
    // Equal work and equal seeds for all variants of a round.
    let slices = measured(&lab);
    for one in &slices {
        let same = |other: &&serde_json::Value| {
            ["phase", "block", "round"].iter().all(|key| one[*key] == other[*key])
        };
        for other in slices.iter().filter(same) {
            assert_eq!(one["seed"], other["seed"]);
            assert_eq!(one["work"]["succeeded"], other["work"]["succeeded"]);
        }
    }
    let comparison = lab.comparison();
    for variant in variants {
        let of = |metric: &str| known(&comparison, "shop", variant, metric);
        assert!(of("ops_per_second").is_none_or(|rate| rate > 0.0), "{variant}");
        // A mean over blocks is not exact.
        let each = of("statements_per_op");
        assert!(each.is_none_or(|each| (5.99..6.5).contains(&each)), "{variant}: {each:?}");
    }
}

#[test]
fn an_order_costs_something_on_mysql_5_6_and_9() {
    interleaved("\"mysql@5.6.24\", \"mysql@9\"", &["mysql-5.6.24", "mysql-9"]);
}

#[test]
fn an_order_costs_something_on_postgres_and_mariadb() {
    interleaved("\"postgres@18\", \"mariadb@11.8\"", &["postgres-18", "mariadb-11.8"]);
}

#[test]
fn the_classic_design_has_an_end_in_time_and_the_plan_names_every_file() {
    let lab = shop(
        "design = \"classic\"\nworkloads = [\"./shop.lua\"]\nwrite_seconds = 1\n\
         [factors]\nbuild = [\"postgres@11\", \"postgres@18\"]\nclients = [2]\n",
    );
    lab.succeed(&["run", "shop.toml", "--counts", "none", "--progress", "none"]);
    check_work(&lab);
    let plan = lab.succeed(&["plan", "shop.toml"]);
    assert!(plan.contains("shop_common.lua"), "{plan}");
    let page = std::fs::read_to_string(lab.path("dbdyno-results/report.html")).unwrap();
    for file in ["shop.lua", "shop_common.lua", "SHA-256"] {
        assert!(page.contains(file), "`{file}` is not in\n{page}");
    }
}

#[test]
fn what_a_script_prints_is_in_no_output() {
    let lab = shop("");
    let prints = "print('one') io.write('two') io.stdout:write('three')";
    lab.write("own.lua", &format!("{prints}\nfunction prepare() end function event() end"));
    let good = "workloads = [\"./own.lua\"]\nfactors = { build = [\"postgres@18\"] }\n";
    lab.write("own.toml", &format!("question = \"?\"\n{good}"));
    let (plan, said) = lab.ends(0, &["plan", "own.toml", "--format", "json"]);
    serde_json::from_str::<serde_json::Value>(&plan).unwrap();
    // To plan it executes it.
    assert!(said.contains("trust the author of `") && said.contains("own.lua`"), "{said}");
}

#[test]
fn what_cannot_be_executed_is_refused_before_anything_is_loaded() {
    let lab = shop("");
    let check = |experiment: &str, script: &str, expected: &str| {
        lab.write("own.lua", script);
        let head = "question = \"?\"\n";
        lab.write("own.toml", &format!("{head}{experiment}"));
        let error = lab.refuses(&["plan", "own.toml"]);
        assert!(error.contains(expected), "{script}: {error}");
    };
    let good = "workloads = [\"./own.lua\"]\nfactors = { build = [\"postgres@18\"] }\n";
    check(good, "x = = 1", "own.lua:1: unexpected symbol near '='");
    check(good, "\nnothing.at = 1", "own.lua:2: attempt to index global 'nothing'");
    check(good, "function prepare() end", "has no function `event`");
    check(good, "function thread_run() end", "defines `thread_run`");
    check(good, "require('nowhere')", "module 'nowhere' not found");
    let event = "function prepare() end function event() end";
    let missing = good.replace("own.lua", "none.lua");
    check(&missing, event, "none.lua");
    let sqlite = good.replace("postgres@18", "sqlite");
    check(&sqlite, event, "drivers for MySQL, MariaDB and PostgreSQL only");
    let options = |options: &str| format!("options = {{ {options} }}\n{good}");
    check(&options("threads = 4"), event, "`threads`");
    check(&options("table_szie = 4"), event, "unknown option of the scripts `table_szie`");
}

#[test]
fn a_file_that_has_changed_since_the_plan_is_not_executed() {
    // `prepare` changes the file that its threads will load.
    let script = "function prepare()\n local own = io.open(sysbench.cmdline.script_path, 'a')\n\
                  own:write('-- more') own:close() end\nfunction event() end\n";
    let lab = shop("workloads = [\"./own.lua\"]\nfactors = { build = [\"postgres@18\"] }\n");
    lab.write("own.lua", script);
    let output = lab.run(&["run", "shop.toml", "--counts", "none", "--progress", "none"]);
    assert_ne!(output.status.code(), Some(0));
    let told = text(&output.stderr) + &text(&output.stdout);
    assert!(told.contains("has changed since the run was planned"), "{told}");
}
