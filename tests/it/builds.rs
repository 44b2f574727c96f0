//! Every build that is offered starts with the configurations that ship for its server, with the
//! settings that the configuration asks for.
//!
//! What is started is the oldest and the newest build of each series: the oldest and the
//! newest of all with every configuration, the others with one of them in turn.

use crate::lab::Lab;
use std::collections::BTreeMap;

const TINY: &str = "
question = \"Does it start?\"
suite = \"quick\"
blocks = 1
rows = 2_000
";

/// A build of `dbdyno list builds`.
struct Offered {
    series: Vec<u32>,
    version: Vec<u32>,
    /// How it is asked for: one that moves by its series.
    name: String,
    has_myrocks: bool,
}

fn offered(lab: &Lab, server: &str) -> Vec<Offered> {
    let lines = lab.succeed(&["list", "builds"]);
    let builds = lines.lines().filter_map(|line| {
        let (name, origin) = line.split_once(' ')?;
        let version = name.strip_prefix(server)?.strip_prefix('@')?;
        let numbers: Vec<u32> = version.split('.').map(|number| number.parse().unwrap()).collect();
        let parts = if server == "postgres" && numbers[0] >= 10 { 1 } else { 2 };
        let series = numbers[..parts].to_vec();
        let words: Vec<String> = series.iter().map(u32::to_string).collect();
        let moves = origin.trim_start().starts_with("rolling");
        let version_asked = if moves { words.join(".") } else { version.to_owned() };
        Some(Offered {
            series,
            version: numbers,
            name: format!("{server}@{version_asked}"),
            has_myrocks: origin.contains("mariadb-plugin-rocksdb"),
        })
    });
    builds.collect()
}

/// The oldest and the newest build of each series, by version.
fn edges(lab: &Lab, server: &str) -> Vec<Offered> {
    let mut series: BTreeMap<Vec<u32>, Vec<Offered>> = BTreeMap::new();
    for build in offered(lab, server) {
        series.entry(build.series.clone()).or_default().push(build);
    }
    assert!(!series.is_empty(), "no build of {server} is offered");
    let edges_of = |mut builds: Vec<Offered>| {
        builds.sort_by(|a, b| a.version.cmp(&b.version));
        let newest = builds.pop();
        builds.truncate(1);
        builds.into_iter().chain(newest)
    };
    series.into_values().flat_map(edges_of).collect()
}

fn check(server: &str) {
    let lab = Lab::with_small_logs();
    let listed = lab.succeed(&["list", "configs"]);
    let names = listed.lines().filter_map(|line| line.split(' ').next()?.strip_prefix(server));
    let configs: Vec<&str> = names.filter_map(|name| name.strip_prefix('/')).collect();
    assert!(configs.len() > 1, "{listed}");
    let edges = edges(&lab, server);
    for (nth, edge) in edges.iter().enumerate() {
        let build = &edge.name;
        let takes_all = nth == 0 || nth + 1 == edges.len();
        let is_there = |config: &&str| edge.has_myrocks || !config.starts_with("myrocks");
        let mut own: Vec<&str> = configs.iter().copied().filter(is_there).collect();
        if !takes_all {
            own = vec![own[nth % own.len()]];
        }
        let named: Vec<String> = own.iter().map(|config| format!("\"{config}\"")).collect();
        let factors =
            format!("[factors]\nbuild = [\"{build}\"]\nconfig = [{}]\n", named.join(", "));
        lab.write("tiny.toml", &format!("{TINY}{factors}"));
        let tiny = ["verify", "tiny.toml", "--only", "point-query", "--operations", "1"];
        let out = lab.succeed(&tiny);
        let settings = out.lines().find(|line| line.starts_with("settings")).unwrap_or_default();
        let good = settings.split_whitespace().filter(|word| *word == "ok").count();
        assert_eq!(good, own.len(), "{build}\n{out}");
        assert!(out.contains("with 2000 rows in all tables: 0 failures"), "{build}\n{out}");
    }
}

#[test]
fn every_series_of_mysql_starts_with_every_configuration() {
    check("mysql");
}

#[test]
fn every_series_of_mariadb_starts_with_every_configuration() {
    check("mariadb");
}

#[test]
fn every_series_of_postgres_starts_with_every_configuration() {
    check("postgres");
}

#[test]
fn a_setting_that_one_server_does_not_know_is_found_before_another_is_loaded() {
    let lab = Lab::with_small_logs();
    let text = format!(
        "{TINY}slice_seconds = 0.1\n[factors]\nbuild = [\"postgres@18\", \"postgres@11\"]\n\
         config = [\"mine\"]\n[configs.mine]\nextends = \"base\"\n[configs.mine.settings]\n\
         io_method = \"sync\"\n"
    );
    lab.write("tiny.toml", &text);
    let said = lab.refuses(&["run", "tiny.toml", "--only", "point-query"]);
    let sentence = "configuration `mine` sets `io_method`, which this version does not know";
    assert!(said.contains("postgres 11.22 did not start") && said.contains(sentence), "{said}");
    assert!(!said.contains("loaded"), "{said}");
}

#[test]
fn statements_of_a_session_shape_what_is_measured_and_are_refused_by_name() {
    let lab = Lab::with_small_logs();
    let text = format!(
        "{TINY}slice_seconds = 0.1\n[factors]\nbuild = [\"mysql@5.6.24\"]\nconfig = [\"mine\"]\n\
         [configs.mine]\nextends = \"base\"\nsession = [\"SET NAMES latin1\"]\n"
    );
    lab.write("tiny.toml", &text);
    lab.succeed(&["run", "tiny.toml", "--only", "point-query", "--counts", "none"]);
    let headers = lab.of_records("trial.toml");
    assert!(headers.iter().any(|text| text.contains("character_set_results = \"latin1\"")));

    let wrong = "configs.mine.session=[\"SET NAMES nonsense\"]";
    let said = lab.refuses(&["run", "tiny.toml", "--only", "point-query", "--set", wrong]);
    let sentence = "the server refuses a statement of `session` in configuration `mine`";
    assert!(said.contains(sentence) && said.contains("in `SET NAMES nonsense`"), "{said}");
    assert!(!said.contains("loaded"), "{said}");
}

/// Without a configuration that pins it, MySQL 5.6 and 9 have other character sets and logs.
#[test]
fn a_difference_that_nobody_asked_for_ends_a_run_before_the_load_unless_it_is_accepted() {
    let lab = Lab::with_small_logs();
    let text = format!(
        "{TINY}slice_seconds = 0.1\n[factors]\nbuild = [\"mysql@5.6.24\", \"mysql@9\"]\n\
         config = [\"mine\"]\n[configs.mine]\n\
         settings = {{ innodb_buffer_pool_size = \"256M\", innodb_flush_method = \"O_DIRECT\" }}\n"
    );
    lab.write("tiny.toml", &text);
    let run = ["run", "tiny.toml", "--only", "point-query", "--counts", "none"];
    let said = lab.refuses(&run);
    for part in [
        "`mysql-5.6.24` and `mysql-9.",
        "` differ in `log_bin` (`OFF` and `ON`), which no configuration asks for",
        "differ in `character_set_server` (`latin1` and `utf8mb4`)",
        "write `settings = { skip_log_bin = 1 }` into both configurations, or accept it with \
         `accept = [\"binary log\"]`",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    assert!(!said.contains("loaded"), "{said}");
    let accept = "accept=[\"binary log\", \"character set\"]";
    lab.succeed(&[&run[..], &["--set", accept]].concat());
    // The shipped configuration pins what the versions of both products have differently.
    let builds = "factors.build=[\"mysql@5.5.9\", \"mysql@9\", \"mariadb@10.1\", \"mariadb@11.8\"]";
    lab.succeed(&[&run[..], &["--set", builds, "--set", "factors.config=[\"base\"]"]].concat());
    let said = lab.refuses(&[&run[..], &["--set", "accept=[\"binlog\"]"]].concat());
    assert!(said.contains("`binlog`") && said.contains("binary log"), "{said}");
}

#[test]
fn connections_beyond_what_a_configuration_takes_are_refused_by_plan() {
    let lab = Lab::with_small_logs();
    let factors = "[factors]\nbuild = [\"postgres@18\"]\nconfig = [\"mine\"]\nclients = [1, 64]\n";
    let own = "[configs.mine]\nextends = \"base\"\n[configs.mine.settings]\nmax_connections = 20\n";
    lab.write("tiny.toml", &format!("{TINY}{factors}{own}"));
    let said = lab.refuses(&["plan", "tiny.toml"]);
    assert!(said.contains("takes 20 connections (`max_connections` of configuration `mine`)"));
    // One that says nothing of connections follows the plan.
    let followed = ["--set", "factors.config=[\"base\"]", "--set", "factors.clients=[1, 1024]"];
    let plan = lab.succeed(&[&["plan", "tiny.toml", "--format", "json"], &followed[..]].concat());
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let settings = plan["subjects"][0]["config"]["settings"].as_array().unwrap();
    let limit = settings.iter().find(|one| one["name"] == "max_connections").unwrap();
    assert_eq!(limit["value"], "2064");
}

/// More connections than are looked for together.
#[test]
fn the_task_of_each_of_many_connections_is_found() {
    let lab = Lab::with_small_logs();
    let factors = "[factors]\nbuild = [\"postgres@18\", \"mysql@5.6.24\"]\nclients = [1, 70]\n";
    lab.write("tiny.toml", &format!("{TINY}rounds = 1\nslice_seconds = 0.1\n{factors}"));
    lab.succeed(&["run", "tiny.toml", "--only", "point-query", "--counts", "none"]);
    let slices = lab.slices();
    let of_many = slices.iter().filter(|slice| slice["clients"] == 70);
    let of_many: Vec<_> = of_many.filter(|slice| slice["state"] == "measured").collect();
    assert_eq!(of_many.len(), 2, "{of_many:?}");
    for slice in of_many {
        let readings = slice["readings"].as_array().unwrap();
        let foreground = readings.iter().any(|reading| reading["scope"] == "foreground");
        assert!(foreground, "{readings:?}");
        assert_eq!(slice["work"]["failed"], 0);
    }
}
