//! Broken and hostile files: told with file and line, and nothing panics.

use super::formats::sample_text;
use archive::{Options, import};
use fs_err as fs;

/// The message of an import of one file.
fn message(name: &str, text: &[u8]) -> String {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(name);
    fs::write(&path, text).unwrap();
    let error = import(&[path], &Options::default()).unwrap_err().to_string();
    error.replace(&root.path().display().to_string(), "D")
}

#[test]
fn broken_files_are_told_with_their_place() {
    let check = |name: &str, text: &str, expected: &str| {
        assert_eq!(message(name, text.as_bytes()), expected);
    };
    check("o.sum.t.1m.a", "", "`D/o.sum.t.1m.a`:1: the file is empty");
    check("o.sum.t.1m.a", "ips\n", "`D/o.sum.t.1m.a`:1: the header does not end in `tag`");
    check(
        "o.sum.t.1m.a",
        "ips\tqps\ttag\n1\t2\ta\n",
        "`D/o.sum.t.1m.a`:2: 1 row instead of one for each known phase (10 or 15)",
    );
    check("mrg.l.i0", "<html>\n", "`D/mrg.l.i0`:1: the header is not that of a table of phases");
    check(
        "o.ib.dop1.1",
        "Done\n",
        "`D/o.ib.dop1.1`:1: its folder is not that of a phase, such as `RUN/qr100.L1`",
    );
    let binary = message("mrg.l.i0", b"ips\ttag\n1\0\ta\n");
    assert!(binary.starts_with("`D/mrg.l.i0`:2: the line holds a zero byte"), "{binary}");
}

#[test]
fn a_broken_row_does_not_shift_the_phases_of_the_others() {
    let root = tempfile::tempdir().unwrap();
    let name = "o.sum.t.80m.my8408_rel.cz12a";
    let mut lines: Vec<String> = sample_text(name).lines().map(str::to_owned).collect();
    lines[4] = "cut".to_owned();
    fs::write(root.path().join(name), lines.join("\n") + "\n").unwrap();
    let imported = import(&[root.path().to_owned()], &Options::default()).unwrap();
    let told: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    let expected = format!("{name}`:5: the row has 1 column instead of 21; it is left out");
    assert!(told[0].ends_with(&expected), "{told:?}");
    let values = &imported.archives[0].values;
    let of = |phase: &str| {
        let found = values.iter().map(|value| &value.measurement);
        found.clone().find(|m| m.phase == phase && m.metric == "ops_per_second").map(|m| m.value)
    };
    assert_eq!((of("l.i1"), of("l.i2"), of("qr100.L1")), (Some(9000.0), None, Some(8000.0)));
}
