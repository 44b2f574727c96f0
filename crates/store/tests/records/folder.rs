//! The folder of results: begun once, and apart from other files.

use fs_err as fs;
use store::Results;

#[test]
fn processes_that_begin_at_the_same_time_create_one_folder() {
    for _ in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let results = dir.path().join("a/b");
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            let open = || {
                start.wait();
                Results::open_or_create(&results).map(drop)
            };
            let all = [(); 4].map(|()| scope.spawn(open));
            all.into_iter().for_each(|one| one.join().unwrap().unwrap());
        });
    }
}

#[test]
fn results_go_into_an_empty_folder_or_beside_other_results() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("results");
    fs::create_dir_all(folder.join("runs")).unwrap();
    Results::open_or_create(&folder).expect("what another process has begun");
    fs::write(folder.join("notes.toml"), "").unwrap();
    Results::open_or_create(&folder).expect("a results folder");
    fs::remove_dir(folder.join("records")).unwrap();
    let said = Results::open_or_create(&folder).unwrap_err().to_string();
    assert!(said.contains("results` is not empty") && said.contains("`--results`"), "{said}");
    assert!(!folder.join("records").exists(), "nothing is added to it");
}
