//! Every build that is offered starts with every configuration that ships for its server, with the
//! settings that the configuration asks for.
//!
//! What is started is the oldest and the newest build of each series.

use crate::lab::Lab;
use std::collections::BTreeMap;

const TINY: &str = "
question = \"Does it start?\"
suite = \"quick\"
blocks = 1
rows = 10_000
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

/// The oldest and the newest build of each series, by name.
fn edges(lab: &Lab, server: &str) -> BTreeMap<String, bool> {
    let mut series: BTreeMap<Vec<u32>, Vec<Offered>> = BTreeMap::new();
    for build in offered(lab, server) {
        series.entry(build.series.clone()).or_default().push(build);
    }
    assert!(!series.is_empty(), "no build of {server} is offered");
    let mut edges = BTreeMap::new();
    for mut builds in series.into_values() {
        builds.sort_by(|a, b| a.version.cmp(&b.version));
        for build in [builds.first().unwrap(), builds.last().unwrap()] {
            edges.insert(build.name.clone(), build.has_myrocks);
        }
    }
    edges
}

fn check(server: &str) {
    let lab = Lab::new();
    let listed = lab.succeed(&["list", "configs"]);
    let names = listed.lines().filter_map(|line| line.split(' ').next()?.strip_prefix(server));
    let configs: Vec<&str> = names.filter_map(|name| name.strip_prefix('/')).collect();
    assert!(configs.len() > 1, "{listed}");
    for (build, has_myrocks) in edges(&lab, server) {
        let own = configs.iter().filter(|config| has_myrocks || **config != "myrocks");
        let own: Vec<String> = own.map(|config| format!("\"{config}\"")).collect();
        let factors = format!("[factors]\nbuild = [\"{build}\"]\nconfig = [{}]\n", own.join(", "));
        lab.write("tiny.toml", &format!("{TINY}{factors}"));
        let tiny = ["verify", "tiny.toml", "--only", "point-query", "--operations", "1"];
        let out = lab.succeed(&tiny);
        let settings = out.lines().find(|line| line.starts_with("settings")).unwrap_or_default();
        let good = settings.split_whitespace().filter(|word| *word == "ok").count();
        assert_eq!(good, own.len(), "{build}\n{out}");
        assert!(out.contains("with 10000 rows per table: 0 failures"), "{build}\n{out}");
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
    let lab = Lab::new();
    let text = format!(
        "{TINY}slice_seconds = 0.1\n[factors]\nbuild = [\"postgres@18\", \"postgres@11\"]\n\
         config = [\"mine\"]\n[configs.mine]\nextends = \"base\"\n[configs.mine.settings]\n\
         io_method = \"sync\"\n"
    );
    lab.write("tiny.toml", &text);
    let out = lab.run(&["run", "tiny.toml", "--only", "point-query"]);
    let said = crate::lab::text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    let sentence = "configuration `mine` sets `io_method`, which this version does not know";
    assert!(said.contains("postgres 11.22 did not start") && said.contains(sentence), "{said}");
    assert!(!said.contains("loaded"), "{said}");
}

#[test]
fn connections_beyond_what_a_configuration_takes_are_refused_by_plan() {
    let lab = Lab::new();
    let factors = "[factors]\nbuild = [\"postgres@18\"]\nconfig = [\"mine\"]\nclients = [1, 64]\n";
    let own = "[configs.mine]\nextends = \"base\"\n[configs.mine.settings]\nmax_connections = 20\n";
    lab.write("tiny.toml", &format!("{TINY}{factors}{own}"));
    let out = lab.run(&["plan", "tiny.toml"]);
    let said = crate::lab::text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
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
    let lab = Lab::new();
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
