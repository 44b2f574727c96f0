//! Folders that nobody should send: broken, huge and lying files among good ones.

use crate::lab::{data, exported, study, text_of};
use archive::{Imported, Options};
use std::path::PathBuf;

const MET: &str = "sb.met.read-only.range10.pk1.dop4";
const OUT: &str = "sb.o.read-only.range10.pk1.dop4";

/// A folder `bad` with files at these paths.
fn folder(files: &[(&str, &[u8])]) -> (tempfile::TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("bad");
    for (path, bytes) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    (parent, root)
}

fn import(files: &[(&str, &[u8])]) -> Result<Imported, String> {
    let (_parent, root) = folder(files);
    archive::import(&[root], &Options::default()).map_err(|error| error.to_string())
}

#[test]
fn a_folder_of_broken_files_is_an_error_with_file_and_line() {
    let met = data(MET);
    let long = [b"x".repeat(1 << 20).as_slice(), b"\n"].concat();
    let utf16: Vec<u8> = met.iter().flat_map(|byte| [*byte, 0]).collect();
    let check = |bytes: &[u8], place: &str| {
        let message = import(&[("s1/sb.met.read-only.range10.pk1.dop4", bytes)]).unwrap_err();
        assert!(message.contains(place), "{message}");
        assert!(message.starts_with("`bad/s1/sb.met.read-only.range10.pk1.dop4`"), "{message}");
        assert!(message.len() < 300 && message.lines().count() == 1, "{message}");
    };
    check(b"", "is empty");
    check(&met[..80], ":2: ");
    check(&met[..60], ":2: ");
    check(&long, ":1: ");
    check(&[met.as_slice(), b"\0"].concat(), ":7: the line holds a zero byte");
    check(&utf16, ":1: the line holds a zero byte");
    check(b"\xff\xfe\x80", ":1: the line is not UTF-8");
}

#[test]
fn names_in_another_encoding_are_told_and_never_replaced() {
    let check = |path: &str, text: &str, line: u32| {
        let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        let message = import(&[(path, &bytes)]).unwrap_err();
        let expected = format!("`bad/{path}`:{line}: the line is not UTF-8, as it holds the byte");
        assert!(message.starts_with(&expected), "{message}");
        // The same text in UTF-8 is fine, and so is a mark of byte order before it.
        let marked = format!("\u{feff}{text}");
        for text in [text, &marked] {
            let imported = import(&[(path, text.as_bytes())]).unwrap();
            assert_eq!(imported.warnings, []);
            assert!(imported.archives[0].subjects.iter().any(|subject| subject == "Müller"));
        }
    };
    check(
        "o.met.all",
        "sb.met.scan.range100.pk1.dop1\n--- absolute\ncpu/o\t\to/s\tdbms\n0.1\t5\tMüller\n",
        4,
    );
    check("qps.abs.a.tsv", "col-1 : Müller\n\ncol-1\n5\tscan_range=100\n", 1);
    check("mrg.l.i0", "ips\tqps\ttag\n5\t0\tMüller\n", 2);
}

#[test]
fn a_named_file_that_is_broken_is_an_error_beside_good_ones() {
    let (_parent, root) = folder(&[(MET, &data(MET)), (OUT, &data(OUT)[..400])]);
    for paths in [vec![root.join(MET), root.join(OUT)], vec![root]] {
        let imported = archive::import(&paths, &Options::default()).unwrap();
        let [broken] = imported.broken.as_slice() else { panic!("{:?}", imported.broken) };
        assert!(broken.file.ends_with(&format!("bad/{OUT}")), "{broken}");
        assert!(broken.line > 0 && broken.reason.contains("cut short"), "{broken}");
        // What is whole is imported.
        assert_eq!((imported.archives.len(), imported.warnings.len()), (1, 0));
    }
}

/// The places of the broken files of an import, without what is before their names.
fn broken(imported: &Imported) -> Vec<String> {
    let place = |broken: &archive::Warning| {
        let name = broken.file.rsplit('/').next().unwrap_or_default();
        format!("{name}:{}", broken.line)
    };
    imported.broken.iter().map(place).collect()
}

#[test]
fn what_is_broken_or_named_is_told_beside_good_files_and_the_rest_is_counted() {
    let met = data(MET);
    // A name of no known kind, or that of a known one; the line where the file stops to be good.
    let (no, sum, raw) = ("notes.txt", "o.sum.t.1m.a", "sb.met.scan.range100.pk1.dop4");
    let table = b"ips\tqps\ttag\n1\t2\ta\n".as_slice();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &met).unwrap();
    let packed = packed.finish().unwrap();
    let cases: [(&str, &[u8], &str); 16] = [
        (no, b"", "notes.txt:1"),
        (no, b"a\n\0", "notes.txt:2"),
        (no, b"a\nb\n\xff", "notes.txt:3"),
        (no, b"banner is missing\n", "notes.txt:1"),
        (no, &met[60..], "notes.txt:1"),
        (raw, b"", "sb.met.scan.range100.pk1.dop4:1"),
        (raw, &met[..80], "sb.met.scan.range100.pk1.dop4:2"),
        (raw, b"\0", "sb.met.scan.range100.pk1.dop4:1"),
        (raw, b"a\n\xe9", "sb.met.scan.range100.pk1.dop4:2"),
        ("sb.met.scan.range100.pk1.dop4.gz", b"none", "sb.met.scan.range100.pk1.dop4.gz:1"),
        ("a.gz", &packed[..30], "a.gz:1"),
        (sum, table, "o.sum.t.1m.a:2"),
        ("mrg.l.i0", b"ips\tqps\ttag\n1\ta\n", "mrg.l.i0:2"),
        ("mrg.l.i0", &table[..table.len() - 1], "mrg.l.i0:2"),
        ("mrg.l.i0", &table[..12], "mrg.l.i0:1"),
        ("mrg.l.i0", b"ips\tqps\ttag\nNA\tNA\ta\n", "mrg.l.i0:2"),
    ];
    for (name, bytes, place) in cases {
        let known = ![no, "a.gz"].contains(&name);
        let (_parent, root) = folder(&[("s/x.a.b.pk1/sb.met.read-only.range10.pk1.dop4", &met)]);
        std::fs::write(root.join(name), bytes).unwrap();
        let imported = archive::import(std::slice::from_ref(&root), &Options::default()).unwrap();
        let in_folder = (broken(&imported), imported.unknown.len(), imported.archives.len());
        let expected = if known { (vec![place.to_owned()], 0, 1) } else { (vec![], 1, 1) };
        assert_eq!(in_folder, expected, "{name} in a folder");
        let paths = [root.join("s"), root.join(name)];
        let imported = archive::import(&paths, &Options::default()).unwrap();
        assert_eq!(broken(&imported), [place], "{name} by name");
        assert_eq!((imported.unknown.len(), imported.archives.len()), (0, 1));
        let alone = archive::import(&paths[1..], &Options::default()).unwrap_err().to_string();
        let (_, line) = place.rsplit_once(':').unwrap();
        assert!(alone.contains(&format!("{name}`:{line}: ")), "{alone}");
    }
}

#[test]
fn a_line_that_is_cut_is_left_out_and_told() {
    let check = |name: &str, text: &str, line: u32, subjects: &[&str]| {
        let imported = import(&[(name, text.as_bytes())]).unwrap();
        assert_eq!(broken(&imported), [format!("{name}:{line}")]);
        assert_eq!(imported.archives[0].subjects, subjects);
        let mut sources = imported.archives[0].values.iter().map(|value| value.source.line);
        assert!(sources.all(|source| source < line));
        let whole = import(&[(name, format!("{text}\n").as_bytes())]).unwrap();
        assert_eq!(whole.broken, []);
    };
    // Each would be another range, another variant or another number.
    check("mrg.l.i0", "ips\tqps\ttag\n1\t0\tmy80\n2\t0\tmy8", 3, &["my80"]);
    check(
        "qps.abs.a.tsv",
        "col-1 : a\n\ncol-1\n5\tscan_range=100\n6\tread-only_range=1",
        5,
        &["a"],
    );
    check(
        "o.met.a",
        "sb.met.scan.range100.pk1.dop1\n--- absolute\ncpu/o\t\to/s\tdbms\n\
         0.1\t5\tmy84\n0.1\t5\tmy8",
        5,
        &["my84"],
    );
}

#[test]
fn what_was_read_before_damage_is_kept() {
    use std::io::Write;
    let table = "ips\tqps\ttag\n1\t0\tmy80\n2\t0\tmy84\n";
    let pack = |text: &str| {
        let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        coder.write_all(text.as_bytes()).unwrap();
        coder.finish().unwrap()
    };
    let packed = pack(table);
    let name = "mrg.l.i0.gz";
    let check = |bytes: &[u8], line: u32, subjects: &[&str]| {
        let imported = import(&[(name, bytes)]).unwrap();
        assert_eq!(broken(&imported), [format!("{name}:{line}")]);
        assert!(imported.broken[0].reason.contains("cannot be read from here on"));
        assert_eq!(imported.archives[0].subjects, subjects);
    };
    // Its last line, its checksum, and the checksum's last byte are cut.
    check(&packed[..packed.len() - 12], 3, &["my80"]);
    check(&packed[..packed.len() - 8], 4, &["my80", "my84"]);
    check(&packed[..packed.len() - 1], 4, &["my80", "my84"]);
    check(&[packed.as_slice(), b"something else"].concat(), 4, &["my80", "my84"]);
    let end = table.find("2\t").unwrap();
    let two = [pack(&table[..end]), pack(&table[end..])];
    let whole = two.concat();
    assert_eq!(import(&[(name, &whole)]).unwrap().broken, []);
    // Where the checksum is wrong, any number may be.
    let mut corrupt = two.concat();
    let last = corrupt.len() - 8;
    corrupt[last] ^= 1;
    check(&corrupt, 3, &["my80"]);
}

#[test]
fn what_is_irregular_belongs_to_the_archive_that_it_is_in() {
    let met = data(MET);
    let summary = b"sb.met.scan.range100.pk1.dop4\n--- absolute\ncpu/o\t\to/s\tdbms\n\
                    0.1\t5\tx.a.c.pk1\ncut\ncut\n";
    let files = [
        ("a/x.a.c.pk1/sb.met.read-only.range10.pk1.dop4", met.as_slice()),
        ("a/o.met.all", summary),
        ("b/x.a.c.pk1/sb.met.read-only.range10.pk1.dop4", &met),
        ("b/x.b.c.pk1/sb.met.read-only.range10.pk1.dop4", b""),
        ("c/x.a.c.pk1/sb.met.read-only.range10.pk1.dop4", &met),
        ("o.met.x", b"sb.\n"),
    ];
    let imported = import(&files).unwrap();
    let count = |a: &archive::Archive| (a.experiment.clone(), a.warnings.len());
    let counts: Vec<_> = imported.archives.iter().map(count).collect();
    let expected = [("bad/a", 2), ("bad/b", 1), ("bad/c", 0)];
    assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)));
    // The last one lies beside all three and belongs to none.
    assert_eq!((imported.warnings.len(), imported.broken.len()), (2, 2));
}

#[test]
fn names_of_a_megabyte_name_nothing() {
    let long = "é".repeat(1 << 19);
    let met = "sb.met.scan.range100.pk1.dop4\n--- absolute\ncpu/o\t\to/s\tdbms\n";
    let pgbench = text_of("pgbench.txt");
    let cases = [
        ("o.met.all", format!("{met}0.1\t5\tgood\n0.1\t5\t{long}\n")),
        ("mrg.l.i0", format!("ips\tqps\ttag\n5\t0\tgood\n5\t0\t{long}\n")),
        (
            "qps.abs.all.tsv",
            format!("col-1 : good\ncol-2 : {long}\n\ncol-1\tcol-2\n5\t6\tscan_range=100\n"),
        ),
        ("o.qps.abs.a", format!("sb.r.qps.scan.range100.pk1\n10\tgood\n10\t{long}\n\n")),
        ("good.txt", pgbench.replace("<builtin: select only>", &long)),
    ];
    for (name, text) in cases {
        assert!(text.len() > 1 << 20, "{name}");
        let imported = import(&[(name, text.as_bytes())]).unwrap();
        assert_eq!(imported.archives[0].subjects, ["good"], "{name}");
        let [warning] = imported.warnings.as_slice() else { panic!("{:?}", imported.warnings) };
        assert!(warning.reason.contains("has more than 255 characters"), "{warning}");
        assert!(warning.line > 1 && warning.reason.len() < 300);
        let told = format!("{:?}", imported.archives);
        assert!(!told.contains(&"é".repeat(256)), "{name}");
    }
    // A file of which nothing else is left is broken.
    let text = format!("ips\tqps\ttag\n5\t0\t{long}\n");
    let message = import(&[("mrg.l.i0", text.as_bytes())]).unwrap_err();
    assert!(message.starts_with("`bad/mrg.l.i0`:2: ") && message.len() < 300, "{message}");
}

#[test]
fn paths_in_another_encoding_are_told() {
    use std::os::unix::ffi::OsStrExt;
    let (_parent, root) = folder(&[(MET, &data(MET))]);
    let odd = root.join(std::ffi::OsStr::from_bytes(b"x.M\xfcller.c.pk1"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join(MET), data(MET)).unwrap();
    let imported = archive::import(&[root], &Options::default()).unwrap();
    let [broken] = imported.broken.as_slice() else { panic!("{:?}", imported.broken) };
    assert!(broken.reason.contains("its path is not UTF-8"), "{broken}");
    assert_eq!(imported.archives[0].subjects, ["bad"]);
}

#[test]
fn nothing_known_is_an_error_that_names_the_remedy() {
    let message = import(&[("a.txt", b"hello"), ("b/c.bin", &[0, 159, 146, 150])]).unwrap_err();
    assert!(message.contains("2 files under") && message.contains("list importers"), "{message}");
    let missing = archive::import(&[PathBuf::from("/no/such")], &Options::default()).unwrap_err();
    assert!(missing.to_string().contains("/no/such"), "{missing}");
    let options = Options { corrections: vec!["iostat".into()] };
    let message = archive::import(&[], &options).unwrap_err().to_string();
    assert_eq!(message, "unknown correction `iostat`; choose one of `vmstat`");
}

#[test]
fn no_cell_of_an_exported_table_is_a_formula() {
    let (met, out) = (data(MET), data(OUT));
    let names = ["=HYPERLINK(\"x\")", "-1+cmd|' C'!A0", "@SUM(1)", "+1", "a;=1", "x.my1.c.pk1"];
    let mut files: Vec<(String, &[u8])> = names
        .iter()
        .flat_map(|name| {
            [(format!("s/{name}/{MET}"), met.as_slice()), (format!("s/{name}/=1+1.txt"), &out)]
        })
        .collect();
    let table = "ips\tqps\ttag\n1\t2\t5m.=1+1\n3\t4\t@b\n";
    files.push(("ib/mrg.l.i0".to_owned(), table.as_bytes()));
    let files: Vec<(&str, &[u8])> = files.iter().map(|(p, b)| (p.as_str(), *b)).collect();
    let imported = import(&files).unwrap();
    let studies = imported.archives.iter().map(study).collect();
    let options = archive::ExportOptions { tag: "t".into(), ..Default::default() };
    let mut seen = 0;
    for (path, text) in exported("mytools", studies, &options) {
        // Titles of the published format.
        let lines = text.lines().filter(|line| *line != "-" && !line.starts_with("--- "));
        for cell in lines.flat_map(|line| line.split(['\t', ',', ';', '"'])) {
            let formula = cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
            assert!(!formula, "{path}: {text}");
            seen += u32::from(cell.starts_with('\''));
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn strange_names_stay_names() {
    let met = data(MET);
    let names = [
        "x.<script>alert(1)<_script>.c.pk1",
        "x.\u{1b}[31mred.c.pk1",
        "x.=1+1,\"q\".c.pk1",
        "x.a\tb.c.pk1",
    ];
    let paths: Vec<String> = names.iter().map(|name| format!("{name}/{MET}")).collect();
    let files: Vec<(&str, &[u8])> = paths.iter().map(|p| (p.as_str(), met.as_slice())).collect();
    let imported = import(&files).unwrap();
    let [archive] = imported.archives.as_slice() else { panic!("one archive") };
    assert_eq!(archive.subjects.len(), 4);
    let input = archive::Input { studies: vec![study(archive)] };
    let options = archive::ExportOptions { tag: "t".into(), ..Default::default() };
    for exporter in archive::export::EXPORTERS {
        for file in (exporter.export)(&input, &options).unwrap() {
            let text = String::from_utf8(file.bytes).unwrap();
            assert!(file.path.starts_with(|c: char| c.is_ascii_lowercase()), "{}", file.path);
            if exporter.name == "mytools" {
                assert!(!text.contains('\u{1b}'), "{}: {text}", file.path);
                let table = text.lines().rfind(|line| line.ends_with("_range=10"));
                let columns = table.map_or(5, |row| row.split(['\t', ',']).count());
                assert!((4..=5).contains(&columns), "{text}");
            }
        }
    }
}

#[test]
fn options_of_the_command_line_are_keys_of_all_values_of_the_step() {
    let out = text_of(OUT);
    let with = |tables: u32| {
        let options =
            format!("--threads=4 --tables={tables} --table-size=1000 --rand-type=uniform");
        out.replacen("--threads=4", &options, 1)
    };
    let (one, two) = (with(8), with(1));
    let (a, b) = (format!("x.a.c.pk1/{OUT}"), format!("x.b.c.pk1/{OUT}"));
    let (a_met, b_met) = (format!("x.a.c.pk1/{MET}"), format!("x.b.c.pk1/{MET}"));
    let met = data(MET);
    let files = [
        (a.as_str(), one.as_bytes()),
        (b.as_str(), two.as_bytes()),
        (a_met.as_str(), &met),
        (b_met.as_str(), &met),
    ];
    let imported = import(&files).unwrap();
    let values = &imported.archives[0].values;
    for value in values {
        let tables = if value.measurement.subject == "x.a.c.pk1" { "8" } else { "1" };
        let levels = &value.measurement.levels;
        assert_eq!((levels["tables"].as_str(), levels["table-size"].as_str()), (tables, "1000"));
        assert_eq!((levels["pk"].as_str(), levels["build"].len()), ("1", 1));
    }
    let told = archive::option_differences(values.iter().map(|value| &value.measurement));
    let expected = "sysbench's `tables` differs between variants in `read-only`: `1`, `8`";
    assert_eq!(told, [expected]);
}

#[test]
fn contradictions_are_told_and_the_more_exact_file_counts() {
    let other = text_of(OUT).replace("(1000.00 per", "(1003.00 per");
    let imported = import(&[(MET, &data(MET)), (OUT, other.as_bytes())]).unwrap();
    let [warning] = imported.warnings.as_slice() else { panic!("{:?}", imported.warnings) };
    let expected = format!("`ops_per_second` is 1003.00 here and 1000.00 in `bad/{MET}`:3");
    assert!(warning.reason.starts_with(&expected), "{warning}");
    let values = &imported.archives[0].values;
    let ops = values.iter().find(|v| v.measurement.metric == "ops_per_second").unwrap();
    assert_eq!((ops.measurement.value, ops.source.line), (1000.0, 3));
}

#[test]
fn compressed_files_are_read_and_passwords_are_not_kept() {
    use std::io::Write;
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    coder.write_all(&data(OUT)).unwrap();
    let packed = coder.finish().unwrap();
    let imported = import(&[(&format!("s1/{OUT}.gz"), packed.as_slice())]).unwrap();
    assert_eq!(imported.warnings, []);
    let text = format!("{:?}", imported.archives);
    assert!(text.contains("1000.00") && !text.contains("secret"));
    let cut = import(&[(&format!("s1/{OUT}.gz"), &packed[..packed.len() / 2])]).unwrap_err();
    assert!(cut.contains("cannot be read"), "{cut}");
}
