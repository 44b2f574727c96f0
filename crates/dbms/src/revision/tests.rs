use super::*;

fn git(folder: &Path, words: &[&str]) {
    let name = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"];
    let status = Command::new("git").arg("-C").arg(folder).args(name).args(words).output();
    assert!(status.unwrap().status.success(), "{words:?}");
}

/// A repository whose commits each write a file, and places for builds.
fn lab(contents: &[&str]) -> Option<(tempfile::TempDir, Source, Places)> {
    if Command::new("git").arg("--version").output().is_err() {
        println!("skipped: git is not installed");
        return None;
    }
    let lab = tempfile::tempdir().unwrap();
    let repository = lab.path().join("tree");
    fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "-q"]);
    for (index, content) in contents.iter().enumerate() {
        fs::write(repository.join("file"), content).unwrap();
        git(&repository, &["add", "file"]);
        git(&repository, &["commit", "-q", "--allow-empty", "-m", &format!("change {index}")]);
    }
    let command = "echo building; grep -q broken file && exit 3; cp file \"$PREFIX\"/";
    let places = Places::at(&lab.path().join("places"), None).unwrap();
    let source = Source { repository, command: command.to_owned() };
    Some((lab, source, places))
}

#[test]
fn revisions_are_listed_built_once_and_failures_kept() {
    let Some((_lab, source, places)) = lab(&["a", "broken", "a"]) else { return };
    let revisions = source.revisions("HEAD~2", "HEAD").unwrap();
    let subjects: Vec<&str> = revisions.iter().map(|one| one.subject.as_str()).collect();
    assert_eq!(subjects, ["change 0", "change 1", "change 2"]);
    let build = |index: usize| source.build(&revisions[index], &places, &|| false).unwrap();
    let Built::Done(first) = build(0) else { panic!() };
    assert_eq!(fs::read_to_string(first.join("file")).unwrap(), "a");
    // The trees are equal, so the second is not built again.
    assert_eq!(build(2), Built::Done(first));
    for _ in 0..2 {
        let Built::Failed(reason) = build(1) else { panic!() };
        assert!(reason.contains("exit code 3") && reason.contains("building"), "{reason}");
        assert!(reason.ends_with("/failed` to build it again"), "{reason}");
    }
    let swapped = source.revisions("HEAD", "HEAD~2").unwrap_err().to_string();
    assert!(swapped.contains("swap them"), "{swapped}");
    let refused = |good: &str, bad: &str, expected: &str| {
        let said = source.revisions(good, bad).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    };
    refused("nothing", "HEAD", "tree`: there is no revision `nothing`, given by `--good`");
    refused("HEAD", "nothing", "there is no revision `nothing`, given by `--bad`");
    refused("HEAD", "HEAD", "the ends are the same: `--good HEAD` and `--bad HEAD` are both");
}

#[test]
fn what_was_built_can_be_read_and_not_changed_whatever_the_umask() {
    let Some((_lab, mut source, places)) = lab(&["a", "b"]) else { return };
    let revisions = source.revisions("HEAD~1", "HEAD").unwrap();
    for mask in ["077", "000"] {
        source.command =
            format!("umask {mask}; mkdir \"$PREFIX\"/bin; cat file > \"$PREFIX\"/bin/file");
        let built = source.build(&revisions[1], &places, &|| false).unwrap();
        let Built::Done(out) = built else { panic!() };
        let modes = ["", "bin", "bin/file"]
            .map(|name| fs::metadata(out.join(name)).unwrap().mode() & 0o777);
        assert_eq!(modes, [0o755, 0o755, 0o644], "{mask}");
    }
}

#[test]
fn a_good_end_on_another_branch_is_refused_and_a_merge_is_one_revision() {
    let Some((_lab, source, _places)) = lab(&["a", "b", "c"]) else { return };
    let at = |words: &[&str]| git(&source.repository, words);
    at(&["tag", "bad"]);
    at(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    at(&["commit", "-q", "--allow-empty", "-m", "beside"]);
    let fork = source.git(&["rev-parse", "bad~1"]).unwrap();
    let refused = |good: &str, bad: &str, expected: &str| {
        let said = source.revisions(good, bad).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    };
    let remedy = format!("the first parents of `--bad bad`: name `{fork}`, the last of these");
    refused("side", "bad", &remedy);
    at(&["checkout", "-q", "bad"]);
    at(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    refused("side", "HEAD", &format!("name `{fork}`"));
    let found = source.revisions("bad~1", "HEAD").unwrap();
    let subjects: Vec<&str> = found.iter().map(|one| one.subject.as_str()).collect();
    assert_eq!(subjects, ["change 1", "change 2", "merge"]);
    at(&["checkout", "-q", "--orphan", "alone"]);
    at(&["commit", "-q", "--allow-empty", "-m", "alone"]);
    refused("bad", "alone", "they have no commit in common");
}

#[test]
fn an_interrupted_build_ends_with_its_processes_and_is_repeated() {
    let Some((_lab, mut source, places)) = lab(&["a", "b"]) else { return };
    let revisions = source.revisions("HEAD~1", "HEAD").unwrap();
    source.command = "sleep 1000 & sleep 1000".to_owned();
    let error = source.build(&revisions[1], &places, &|| true).unwrap_err().to_string();
    assert!(error.contains("interrupted"), "{error}");
    source.command = "true".to_owned();
    let Built::Failed(reason) = source.build(&revisions[1], &places, &|| false).unwrap() else {
        panic!()
    };
    assert!(reason.contains("left nothing"), "{reason}");
}

#[test]
fn a_build_that_was_killed_is_built_again() {
    let Some((lab, mut source, places)) = lab(&["a", "b"]) else { return };
    let revisions = source.revisions("HEAD~1", "HEAD").unwrap();
    let mark = lab.path().join("mark");
    let mark = mark.display();
    source.command =
        format!("test -e {mark} && cp file \"$PREFIX\"/ && exit; touch {mark}; kill -9 $$");
    let build = || source.build(&revisions[1], &places, &|| false).unwrap();
    let Built::Failed(reason) = build() else { panic!() };
    assert!(reason.starts_with("a signal ended the build"), "{reason}");
    assert!(matches!(build(), Built::Done(_)));
}

#[test]
fn a_build_that_found_the_disk_full_has_not_failed() {
    let Some((_lab, mut source, places)) = lab(&["a", "broken"]) else { return };
    let revisions = source.revisions("HEAD~1", "HEAD").unwrap();
    let Built::Failed(reason) = source.build(&revisions[1], &places, &|| false).unwrap() else {
        panic!()
    };
    let failed = reason.rsplit('`').nth(1).unwrap();
    // As where there was no room for the reason either.
    fs::write(failed, "").unwrap();
    let again = source.build(&revisions[1], &places, &|| false).unwrap();
    assert_eq!(again, Built::Failed(reason));
    source.command = "echo 'x.o: No space left on device'; exit 1".to_owned();
    for _ in 0..2 {
        let full = source.build(&revisions[1], &places, &|| false).unwrap_err().to_string();
        assert!(full.contains("exit code 1: x.o: No space left"), "{full}");
    }
}

#[test]
fn a_build_that_another_bisection_is_at_is_waited_for() {
    let Some((_lab, source, places)) = lab(&["a", "b"]) else { return };
    let revisions = source.revisions("HEAD~1", "HEAD").unwrap();
    let Built::Done(out) = source.build(&revisions[1], &places, &|| false).unwrap() else {
        panic!()
    };
    let above = out.parent().and_then(Path::parent).unwrap();
    let turn = source.turn(above, &|| false).unwrap();
    // What is built waits for nobody.
    assert_eq!(source.build(&revisions[1], &places, &|| true).unwrap(), Built::Done(out));
    let error = source.build(&revisions[0], &places, &|| true).unwrap_err().to_string();
    assert!(error.contains("interrupted"), "{error}");
    drop(turn);
    assert!(matches!(source.build(&revisions[0], &places, &|| false).unwrap(), Built::Done(_)));
}

#[test]
fn builds_of_two_revisions_know_the_same_paths() {
    let Some((_lab, mut source, places)) = lab(&["a", "b"]) else { return };
    source.command = "echo \"$PREFIX $PWD\" > \"$PREFIX\"/file".to_owned();
    let revisions = source.revisions("HEAD~1", "HEAD").unwrap();
    let built = [0, 1].map(|index| {
        let built = source.build(&revisions[index], &places, &|| false).unwrap();
        let Built::Done(out) = built else { panic!() };
        out
    });
    assert_ne!(built[0], built[1]);
    let [first, second] = built.map(|out| fs::read_to_string(out.join("file")).unwrap());
    assert_eq!(first, second);
}

#[test]
fn a_build_that_fails_without_submodules_says_that_they_are_not_there() {
    let Some((_lab, mut source, places)) = lab(&["a", "b"]) else { return };
    fs::write(source.repository.join(".gitmodules"), "").unwrap();
    git(&source.repository, &["add", ".gitmodules"]);
    git(&source.repository, &["commit", "-q", "-m", "parts"]);
    let revisions = source.revisions("HEAD~1", "HEAD").unwrap();
    source.command = "exit 1".to_owned();
    let said = |index: usize| {
        let Built::Failed(reason) = source.build(&revisions[index], &places, &|| false).unwrap()
        else {
            panic!()
        };
        reason
    };
    assert!(said(1).contains("; submodules are not in its folder, unless"), "{}", said(1));
    assert!(!said(0).contains("submodules"), "{}", said(0));
}

#[test]
fn a_build_does_not_outlive_whoever_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let (begun, ended) = (folder.path().join("begun"), folder.path().join("ended"));
    let script = format!("touch {}; sleep 60; touch {}", begun.display(), ended.display());
    let mut command = Command::new("sh");
    command.args(["-c", GUARD, "sh", "sh", "-c", &script]).process_group(0);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take();
    while !begun.exists() {
        std::thread::sleep(PAUSE);
    }
    drop(input);
    assert_eq!(child.wait().unwrap().code(), None, "a signal ended it");
    assert!(!ended.exists());
}

#[test]
fn code_is_the_same_without_what_is_not_executed() {
    let own = std::env::current_exe().unwrap();
    let hash = code_sha256(&own).unwrap();
    assert_eq!(code_sha256(&own), Some(hash));
    let text = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(code_sha256(text.path()), None);
}

#[test]
fn an_engine_in_a_library_is_a_part_of_the_code_of_a_build() {
    let own = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let plugins = folder.path().join("lib/mysql/plugin");
    fs::create_dir_all(&plugins).unwrap();
    let hash = || build_sha256(folder.path(), &own).unwrap();
    let without = hash();
    fs::copy("/bin/sh", plugins.join("ha_rocksdb.so")).unwrap();
    let with = hash();
    assert_ne!(with, without);
    fs::write(plugins.join("notes"), "what is no library is no code").unwrap();
    assert_eq!(hash(), with);
    fs::copy(&own, plugins.join("ha_rocksdb.so")).unwrap();
    assert_ne!(hash(), with);
    assert_eq!(build_sha256(folder.path(), &plugins.join("notes")), None);
    for below in ["lib/x86_64-linux-gnu/postgresql", "lib64/postgresql"] {
        let (own, before) = (folder.path().join(below), hash());
        fs::create_dir_all(&own).unwrap();
        fs::copy("/bin/sh", own.join("llvmjit.so")).unwrap();
        assert_ne!(hash(), before, "{below}");
    }
    let before = hash();
    fs::create_dir(folder.path().join("share")).unwrap();
    fs::write(folder.path().join("share/postgresql.conf.sample"), "jit = off\n").unwrap();
    assert_ne!(hash(), before, "what is read from a file is executed too");
}
