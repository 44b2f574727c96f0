//! What a plan takes: time, disk and memory.

use crate::{plan_of, shipped};
use plan::render;

#[test]
fn estimates_grow_with_the_work() {
    let plan = |set: &[&str]| shipped("quickstart", set).unwrap().estimate;
    let small = plan(&[]);
    // Measured on two idle CPUs without hardware counters: 27 s.
    assert!((14.0..90.0).contains(&small.seconds), "{small:?}");
    assert!(plan(&["blocks=20"]).seconds > 3.0 * small.seconds);
    assert!(plan(&["rows=10000000"]).disk_bytes > 5 * small.disk_bytes);
    // Measured like that: 500 to 670 s.
    let long = ["blocks=2", "rounds=2", "rows=1000000", "slice_seconds=2"];
    let mysql = shipped("mysql-5.6-vs-9", &long).unwrap().estimate;
    assert!((335.0..1000.0).contains(&mysql.seconds), "{mysql:?}");
    assert!((1 << 30..4 << 30).contains(&mysql.memory_bytes), "{mysql:?}");
    // Measured as shipped: 354 s.
    let shipped = shipped("mysql-5.6-vs-9", &[]).unwrap().estimate;
    assert!((280.0..470.0).contains(&shipped.seconds), "{shipped:?}");
}

#[test]
fn a_server_that_is_there_already_takes_nothing_of_this_host_and_is_loaded_in_each_block() {
    let plan = |server: &str, blocks: u32| {
        let text = format!(
            "question = \"How fast?\"\nsuite = \"quick\"\ndesign = \"classic\"\nrows = 8_000_000\n\
             blocks = {blocks}\nread_seconds = 1\nwrite_seconds = 1\nwarmup_seconds = 0.1\n\
             [factors]\nbuild = [\"a\"]\n[servers.a]\nserver = \"postgres\"\n{server}\n"
        );
        plan_of(&text).unwrap()
    };
    let (own, attached) = ("basedir = \"/opt/pg\"", "attach = { host = \"db\" }");
    let there = plan(attached, 4).estimate;
    assert_eq!((there.disk_bytes, there.folder_bytes, there.memory_bytes), (0, 0, 0));
    let here = plan(own, 4).estimate;
    assert!(here.disk_bytes > 1 << 30 && here.memory_bytes > 100 << 20, "{here:?}");
    // A load of 100 s in each.
    let of_block = there.seconds - plan(attached, 3).estimate.seconds;
    assert!((100.0..200.0).contains(&of_block), "{there:?}");
    let told = |server| render(&plan(server, 4)).contains("is loaded in each block");
    assert!(told(attached) && !told(own));
}

#[test]
fn shipped_comparisons_decide_something_in_minutes() {
    for name in ["quickstart", "mysql-5.6-vs-9", "postgres-11-vs-18", "mariadb-innodb-vs-myrocks"] {
        let plan = shipped(name, &[]).unwrap();
        assert!(plan.blocks.len() >= 5, "{name}");
        let limit = if name == "quickstart" { 90.0 } else { 600.0 };
        assert!(plan.estimate.seconds <= limit, "{name}: {:?}", plan.estimate);
    }
}

#[test]
fn the_readme_and_the_plan_agree_on_the_length_of_the_quickstart() {
    let text = render(&shipped("quickstart", &[]).unwrap());
    let estimate = text.lines().find_map(|line| line.strip_prefix("estimate: about "));
    let seconds = estimate.and_then(|rest| rest.split(',').next()).unwrap();
    let readme = include_str!("../../../../README.md");
    assert!(readme.contains(&format!("embedded SQLite, about {seconds}")), "{seconds}");
}
