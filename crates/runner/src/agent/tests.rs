use super::*;
use model::{agent::ListenerPlace, reading::Scope};

const GREETING: &str = concat!(r#"{"dbdyno":""#, env!("CARGO_PKG_VERSION"), r#"","boot":"x"}"#);

/// An agent of these words.
fn agent(words: &[&str]) -> Agent {
    silent_at_most(SILENCE, words)
}

/// The same, which may be silent for so long.
fn silent_at_most(silence: Duration, words: &[&str]) -> Agent {
    let at = ListenerPlace::Port { port: 1, addresses: Vec::new() };
    let start = Start {
        label: "away".to_owned(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        listener: Listener { at, programs: Vec::new() },
        adopt: Box::new(|_| Ok(())),
        stop: Stop::default(),
    };
    Agent::new(start, silence)
}

/// What is said of a shell that executes `script` in the place of an agent.
fn check(script: &str, expected: &str) {
    let said = agent(&["sh", "-c", script]).find().unwrap_err().to_string();
    assert_eq!(said, format!("the agent of `away`: {expected}"), "{script}");
}

#[test]
fn what_is_no_agent_is_refused_in_one_sentence() {
    let said = agent(&["no-such-program", "x"]).find().unwrap_err().to_string();
    assert!(said.contains("there is no program `no-such-program`: install it"), "{said}");
    check("echo ssh: no route >&2; exit 255", "it ended: `ssh: no route`");
    check("printf 'a\\nb\\033[31m' >&2; exit 1", "it ended: `a b\\u{1b}[31m`");
    check("exit 3", "it ended (exit status: 3)");
    let silent = silent_at_most(Duration::from_secs(1), &["sleep", "100"]);
    let said = silent.find().unwrap_err().to_string();
    assert_eq!(said, "the agent of `away`: it was silent for 1 s");
    for talker in ["yes welcome", "echo welcome"] {
        let said = agent(&["sh", "-c", talker]).find().unwrap_err().to_string();
        assert!(said.contains("its first line is `welcome`") && !said.contains('\n'), "{said}");
    }
    check(
        r#"echo '{"dbdyno":"99.1.0","later":[]}'"#,
        &format!(
            "it is dbdyno 99.1.0 and this is dbdyno {VERSION}: install the same version on both \
             hosts"
        ),
    );
}

#[test]
fn an_agent_that_fails_says_so_and_one_that_ends_is_started_again() {
    let answers = |reply: &str| format!("echo '{GREETING}'; read x; echo '{reply}'; read x");
    let failed = answers(r#"{"failed":{"message":"no server is at port 1"}}"#);
    check(&failed, "no server is at port 1");
    let said = agent(&["sh", "-c", &answers("{}")]).find().unwrap_err().to_string();
    assert!(said.contains("it sent `{}`, an unknown reply"), "{said}");
    let found = r#"{"found":{"pid":7,"program":"postgres","lacks":[]}}"#;
    let agent = agent(&["sh", "-c", &answers(found)]);
    for _ in 0..2 {
        assert_eq!(agent.find().unwrap().pid, Some(7));
        let ended = agent.round_trip_us().unwrap_err();
        assert!(ended.to_string().contains("it ended (exit status"), "{ended}");
        let again = agent.begin(Observation::Window).unwrap_err();
        assert!(again.to_string().contains("it has ended"), "{again}");
    }
    assert!(!agent.is_here(), "nothing is known of an agent that has ended");
}

#[test]
fn no_variable_with_a_secret_reaches_the_program() {
    let agent = agent(&["env"]);
    let said = agent.find().unwrap_err().to_string();
    let name = said.split("its first line is `").nth(1).and_then(|rest| rest.split('=').next());
    let known = ["HOME", "LANG", "LC_ALL", "PATH", "RUST_BACKTRACE", "TMPDIR", "TZ"];
    let known: Vec<&str> = known.iter().chain(VARIABLES).copied().collect();
    assert!(name.is_some_and(|name| known.contains(&name) || name.starts_with("XDG_")), "{said}");
}

#[test]
fn rows_follow_the_clock_of_this_host() {
    let row = |time_us| SeriesRow {
        time_us,
        scope: Scope::Server,
        counter: "rss_kib".to_owned(),
        value: 1.0,
    };
    let mut rows = [row(1_000), row(2_000)];
    shift(&mut rows, -400);
    assert_eq!(rows.map(|row| row.time_us), [600, 1_600]);
}
