//! Two runs on one host: the second is refused, or both are marked.

use crate::{
    lab::{Lab, ends},
    running::{eventually, send},
};
use std::process::Stdio;

const EXPERIMENT: &str = "question = \"?\"\nsuite = \"quick\"\nrows = 1000\nrounds = 1\n\
                          slice_seconds = 0.1\nfactors.build = [\"sqlite\"]\n";

#[test]
fn a_second_run_is_refused_by_name_or_marks_both() {
    let lab = Lab::with_small_logs();
    lab.write("first.toml", &format!("{EXPERIMENT}blocks = 500\n"));
    lab.write("second.toml", &format!("{EXPERIMENT}blocks = 1\n"));
    lab.write("third.toml", &format!("{EXPERIMENT}blocks = 500\n"));
    let arguments = ["--counts", "none", "--progress", "plain", "--results"];
    let of = |name: &str, more: &[&str]| {
        let file = format!("{name}.toml");
        let words = [&["run", file.as_str()], &arguments[..], &[name], more].concat();
        lab.command(&words)
    };
    let err = std::fs::File::create(lab.path("stderr")).unwrap();
    let mut first = of("first", &[]).stdout(Stdio::null()).stderr(err).spawn().unwrap();
    let slices = || {
        let said = std::fs::read_to_string(lab.path("stderr")).unwrap();
        said.lines().filter(|line| line.contains("] thds:")).count()
    };
    eventually("the first run measures", || (slices() > 0).then_some(()));
    let (_, said) = ends(2, of("second", &[]));
    let expected = format!(
        "error: another run, `first` (pid {}), is measuring on this host: pass `--wait` to \
         begin after it, or `--allow-concurrent`, which marks the results of both",
        first.id()
    );
    assert!(said.contains(&expected), "{said}");
    assert!(!lab.path("second").exists(), "it was refused before it made anything");
    let (_, said) = ends(0, of("second", &["--allow-concurrent"]));
    assert!(said.contains("not alone on this host: `first` ran too"), "{said}");
    let before = slices();
    eventually("a slice ended after it", || (slices() > before).then_some(()));
    let waits = std::fs::File::create(lab.path("waits")).unwrap();
    let waiting = of("second", &["--wait"]).stdout(Stdio::null()).stderr(waits).spawn();
    let mut waiting = waiting.unwrap();
    let said = || std::fs::read_to_string(lab.path("waits")).unwrap();
    let waits_for = |name: &str, pid: u32| {
        let expected = format!("waiting for `{name}` (pid {pid}) to end\n");
        eventually("the second run waits", || said().contains(&expected).then_some(()));
        assert!(!said().contains("block 1"), "{}", said());
    };
    waits_for("first", first.id());
    let mut third = of("third", &["--allow-concurrent"]);
    let mut third = third.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("the third run began", || lab.path("third").exists().then_some(()));
    send("-INT", &first.id().to_string());
    waits_for("third", third.id());
    send("-INT", &third.id().to_string());
    third.wait().unwrap();
    assert!(waiting.wait().unwrap().success(), "{}", said());
    assert!(said().contains("block 1") && !said().contains("not alone"), "{}", said());
    first.wait().unwrap();
    let (_, warned) = lab.ends(0, &["compare", "--results", "first"]);
    assert!(warned.contains("not alone on this host: `second` ran too"), "{warned}");
    let (_, said) = ends(0, of("second", &[]));
    assert!(!said.contains("not alone"), "{said}");
}
