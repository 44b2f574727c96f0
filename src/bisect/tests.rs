use super::*;

#[test]
fn a_position_is_skipped_for_errors_of_a_server_alone() {
    let lost = runner::Error::Sql { message: "no table".to_owned(), lost: false };
    assert!(is_of_server(&lost.into()));
    assert!(is_of_server(&runner::Error::Driver("gone".to_owned()).into()));
    assert!(!is_of_server(&runner::Error::Preflight("no space".to_owned()).into()));
    assert!(!is_of_server(&anyhow::anyhow!("no such test")));
}

#[test]
fn a_change_that_no_probe_has_seen_has_to_be_seen_in_its_two_sides() {
    let metric = analysis::metric("server_cpu_us_per_op").unwrap();
    let probe = |bad: f64| Probe { good: 10.0, bad, candidate: bad };
    let of = |values: [f64; 4]| evidence(metric, &values.map(probe));
    let (changed, equal) = (of([20.0, 20.1, 20.2, 20.1]), of([10.1, 9.9, 10.2, 9.8]));
    let check = |shown: Option<Evidence>, runs: usize, expected: Look| {
        assert_eq!(Look::at(shown.as_ref(), runs), expected, "{shown:?}");
    };
    check(changed, 1, Look::Enough);
    check(equal, 1, Look::Again);
    check(equal, TRIES, Look::Alike);
    check(None, 1, Look::Nothing);
}

#[test]
fn what_probes_have_found_stands_without_the_last_run() {
    let stands = |outcome: Outcome, stop: &Stop| {
        let answers = vec![Answer { position: 1, outcome, height: 0.5 }];
        let state = State { answers, ..State::default() };
        matches!(verdict::kept(Err(anyhow::anyhow!("it crashed")), &state, stop), Ok(None))
    };
    let stop = Stop::default();
    assert!(stands(Outcome::LikeBad, &stop));
    assert!(!stands(Outcome::Undecided, &stop));
    stop.flag().store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(!stands(Outcome::LikeBad, &stop));
}

#[test]
fn an_end_is_blamed_for_its_own_failures_alone() {
    let labels = ["good", "bad", "candidate"];
    let check = |subjects: &[&str], expected: Option<(usize, &str)>| {
        let failed = |subject: &&str| {
            let (subject, reason) = ((*subject).to_owned(), "it".to_owned());
            Failed { subject, reason, is_of_host: false }
        };
        let failures: Vec<Failed> = subjects.iter().map(failed).collect();
        assert_eq!(failed_end(&labels, &failures), expected, "{subjects:?}");
    };
    check(&[], None);
    check(&["candidate"], None);
    check(&[""], None);
    check(&["candidate", "bad"], Some((1, "it")));
    check(&["good"], Some((0, "it")));
}
