//! Bad input: one clear sentence and exit code 2, as one table.

use crate::lab::{Lab, text};

/// An experiment in a file, arguments after `run FILE`, and parts of the sentence.
struct Case {
    name: &'static str,
    experiment: &'static str,
    arguments: &'static [&'static str],
    parts: &'static [&'static str],
}

const GOOD: &str = "question = \"?\"\nsuite = \"quick\"\nrows = 1000\n";

const CASES: &[Case] = &[
    Case {
        name: "unknown key",
        experiment: "question = \"?\"\nsuite = \"quick\"\nrow = 1000\n[factors]\nbuild = [\"sqlite\"]\n",
        arguments: &[],
        parts: &["bad.toml:3", "`row`", "`rows`"],
    },
    Case {
        name: "unknown server",
        experiment: "question = \"?\"\nsuite = \"quick\"\n[factors]\nbuild = [\"mysqll@9\"]\n",
        arguments: &[],
        parts: &["`mysqll`", "mysql"],
    },
    Case {
        name: "unknown workload",
        experiment: "question = \"?\"\nworkloads = [\"point-qery\"]\n[factors]\nbuild = [\"sqlite\"]\n",
        arguments: &[],
        parts: &["`point-qery`", "`point-query`"],
    },
    Case {
        name: "version that does not exist",
        experiment: "question = \"?\"\nsuite = \"quick\"\n[factors]\nbuild = [\"postgres@8.1\"]\n",
        arguments: &[],
        parts: &["8.1", "postgres", "basedir"],
    },
    Case {
        name: "not TOML",
        experiment: "<html>no</html>\n",
        arguments: &[],
        parts: &["bad.toml:1"],
    },
    Case {
        name: "no space",
        experiment: "question = \"?\"\nsuite = \"quick\"\nrows = 900000000000\n[factors]\nbuild = [\"sqlite\"]\n",
        arguments: &[],
        parts: &["no space", "MiB"],
    },
    Case {
        name: "resume without anything to resume",
        experiment: "question = \"?\"\nsuite = \"quick\"\nrows = 1000\n[factors]\nbuild = [\"sqlite\"]\n",
        arguments: &["--resume"],
        parts: &["no unfinished run", "--resume"],
    },
];

#[test]
fn bad_input_gives_one_clear_sentence_and_exit_code_2() {
    for case in CASES {
        let lab = Lab::new();
        lab.write("bad.toml", case.experiment);
        let mut arguments = vec!["run", "bad.toml"];
        arguments.extend(case.arguments);
        let output = lab.run(&arguments);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{}: {err}", case.name);
        for part in case.parts {
            assert!(err.contains(part), "{}: `{part}` is not in: {err}", case.name);
        }
        let errors = err.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors, 1, "{}: {err}", case.name);
        assert!(!err.contains("panicked"), "{}: {err}", case.name);
    }
}

#[test]
fn a_missing_experiment_file_is_named() {
    let lab = Lab::new();
    let output = lab.run(&["run", "nowhere.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("nowhere.toml"));
}

#[test]
fn a_results_folder_that_is_a_file_is_named() {
    let lab = Lab::new();
    lab.write("taken", "a file");
    lab.write("good.toml", &format!("{GOOD}[factors]\nbuild = [\"sqlite\"]\n"));
    let output = lab.run(&["run", "good.toml", "--results", "taken"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("taken"), "{}", text(&output.stderr));
}
