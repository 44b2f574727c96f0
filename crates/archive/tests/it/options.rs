//! What tools print with other options than in the samples, and several runs in one file.

use crate::{
    formats::{found, values},
    lab::{data, text_of},
};
use archive::{Fault, FileHead, import};

#[test]
fn reports_of_one_file_with_other_conditions_are_other_phases() {
    let one = text_of("pgbench.txt");
    let simple = one.replace("query mode: prepared", "query mode: simple");
    let (_, found) = found("pgbench.txt", format!("{one}{simple}{one}").as_bytes()).unwrap();
    let rates = found.values.iter().filter(|value| value.metric == "ops_per_second");
    let told: Vec<(String, u32)> =
        rates.map(|value| (value.cell.phase.clone(), value.cell.report)).collect();
    let of = |mode: &str, report: u32| {
        let phase = format!("pgbench query-mode={mode}");
        ["", " script 1", " script 2"].map(|part| (format!("{phase}{part}"), report))
    };
    assert_eq!(told, [of("prepared", 0), of("simple", 0), of("prepared", 1)].concat());
}

#[test]
fn tests_that_keep_to_a_rate_are_told_from_others() {
    let levels = |name: &str, text: &str| {
        let (_, found) = found(name, text.as_bytes()).unwrap();
        let of = |value: &archive::Value| value.cell.levels.clone();
        found.values.iter().map(of).next().unwrap_or_default()
    };
    let report = text_of("sysbench-1.0.txt");
    assert_eq!(levels("all.log", &report).get("rate"), None);
    let threads = report.lines().find(|line| line.starts_with("Number of threads: ")).unwrap();
    let paced = report.replacen(threads, &format!("{threads}\nTarget transaction rate: 90/sec"), 1);
    assert_eq!(levels("all.log", &paced)["rate"], "90");
    let pgbench = text_of("pgbench.txt");
    assert_eq!(levels("pgbench.txt", &pgbench).get("rate-limit"), None);
    let mean = pgbench.lines().find(|line| line.starts_with("latency average")).unwrap();
    let lag = "rate limit schedule lag: avg 0.271 (max 12.030) ms";
    let paced = pgbench.replacen(mean, &format!("{mean}\n{lag}"), 1);
    assert_eq!(levels("pgbench.txt", &paced)["rate-limit"], "yes");
}

#[test]
fn a_log_of_tables_and_runs_is_one_of_runs() {
    let report = text_of("sysbench-1.0.txt");
    let filled = "sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)\n\n\
                  Creating table 'sbtest1'...\n";
    let interval = "[ 10s ] thds: 8";
    let long = report.replacen(interval, &format!("{interval}\n").repeat(300), 1);
    let taken = |text: &str| {
        let start = text.as_bytes();
        let start = &start[..start.len().min(FileHead::BYTES)];
        import::find(&FileHead { name: "all.log", start }).map(|importer| importer.name)
    };
    assert_eq!(taken(&format!("{filled}{long}")), Some("sysbench"));
    assert_eq!(taken(filled), None);
}

#[test]
fn runs_of_sysbench_without_a_report_are_told() {
    let report = text_of("sysbench-1.0.txt");
    let (failed, _) = report.split_once("[ 10s ]").unwrap();
    let text = format!("{failed}{report}{failed}");
    let (_, cut) = found("all.log", text.as_bytes()).unwrap();
    let count = |text: &str| u32::try_from(text.lines().count()).unwrap();
    let told: Vec<u32> = cut.warnings.iter().map(|fault| fault.line).collect();
    assert_eq!(told, [3, count(failed) + count(&report) + 3]);
    assert!(cut.warnings[0].reason.contains("printed no report"), "{:?}", cut.warnings);
    // What stands before the report of a run that ended early.
    let fatal = "FATAL: Event queue is full. Terminating the worker thread";
    let text = report.replacen("SQL statistics:", &format!("{fatal}\nSQL statistics:"), 1);
    let (_, early) = found("all.log", text.as_bytes()).unwrap();
    let [warning] = early.warnings.as_slice() else { panic!("{:?}", early.warnings) };
    assert!(warning.reason.contains("the run ended early"), "{}", warning.reason);
    let late = text.replace(fatal, "FATAL: Terminating the event generator thread failed.");
    assert_eq!(found("all.log", late.as_bytes()).unwrap().1.warnings, []);
}

#[test]
fn a_report_that_is_cut_has_no_numbers_of_the_next_one() {
    let report = text_of("sysbench-1.0.txt");
    let (cut, rest) = report.split_once("    transactions:").unwrap();
    let lines = cut.lines().count();
    let fault = found("all.log", format!("{cut}{report}").as_bytes()).unwrap_err();
    assert!(fault.reason.contains("it is cut short"), "{}", fault.reason);
    // The banner of the next run and an empty line are behind it.
    assert_eq!(fault.line as usize, lines + 2);
    let headless = format!("SQL statistics:\n    transactions:{rest}");
    let fault = found("all.log", format!("{cut}{headless}").as_bytes()).unwrap_err();
    assert_eq!(fault.line as usize, lines);
}

#[test]
fn reports_of_other_tests_of_sysbench_are_no_failed_ones() {
    let report = text_of("sysbench-1.0.txt");
    let (before, sql) = report.split_once("SQL statistics:").unwrap();
    let (_, rest) = sql.split_once("General statistics:").unwrap();
    let text =
        format!("{before}CPU speed:\n    events per second: 9.00\n\nGeneral statistics:{rest}");
    let fault = found("cpu.txt", text.as_bytes()).unwrap_err();
    assert!(fault.reason.contains("such as cpu or fileio"), "{}", fault.reason);
}

#[test]
fn clients_of_pgbench_that_were_aborted_are_told_by_what_is_missing() {
    let timed = "duration: 30 s\nnumber of transactions actually processed: 21804";
    let text = text_of("pgbench-old.txt");
    assert!(text.contains(timed));
    let of = |processed: &str| {
        let counted = format!(
            "number of transactions per client: 10902\n\
             number of transactions actually processed: {processed}"
        );
        found("counted.txt", text.replace(timed, &counted).as_bytes())
    };
    let rate = values(&of("21804/21804").unwrap().1)["s1 counted 2 ops_per_second"].0;
    assert!((rate - 726.811_975).abs() < 1e-9, "{rate}");
    let left_out = "\nnumber of failed transactions: 1800 (8.255%)\n\
                    number of transactions skipped: 4 (0.018%)";
    assert!(of(&format!("20000/21804{left_out}")).is_ok());
    let fault = of("20000/21804").unwrap_err();
    assert!(fault.reason.contains("aborted after 20000 of 21804"), "{}", fault.reason);
    assert_eq!(fault.line, 8);
}

#[test]
fn a_report_that_was_indented_is_one() {
    let report = text_of("sysbench-1.0.txt");
    let behind =
        |start: &str| -> String { report.lines().map(|line| format!("{start}{line}\n")).collect() };
    // Its beginning says what it is.
    let text = format!("sysbench 1.0.20\n{}", behind("  "));
    let (plain, indented) = (found("a.txt", report.as_bytes()), found("a.txt", text.as_bytes()));
    assert_eq!(values(&indented.unwrap().1), values(&plain.unwrap().1));
    let fault = found("a.txt", behind("10:00:00 ").as_bytes()).unwrap_err();
    assert!(fault.reason.contains("stands behind something else"), "{}", fault.reason);
}

#[test]
fn errors_of_pgbench_and_results_of_old_hammerdb_are_told() {
    let one = text_of("pgbench.txt");
    let error = "pgbench: error: connection to server at \"x\", port 5432 failed: refused";
    let (_, failed) = found("a.txt", format!("{one}{error}\n{one}").as_bytes()).unwrap();
    let [warning] = failed.warnings.as_slice() else { panic!("{:?}", failed.warnings) };
    assert_eq!(warning.line as usize, one.lines().count() + 1);
    let old = "Vuser 1:8 Active Virtual Users configured\n\
               Vuser 1:TEST RESULT : System achieved 120000 MySQL TPM at 60000 NOPM\n";
    let values = values(&found("a.txt", old.as_bytes()).unwrap().1);
    assert_eq!(values["s1 a 8 ops_per_second"], (1000.0, "60000".to_owned()));
    assert_eq!(values["s1 a 8 transactions_per_second"], (2000.0, "120000".to_owned()));
}

#[test]
fn reports_at_checkpoints_are_no_repetitions() {
    let report = text_of("sysbench-1.0.txt");
    let (before, part) = report.split_once("SQL statistics:").unwrap();
    let text = format!("{before}[ 10s ] Checkpoint report:\nSQL statistics:{part}{report}");
    let fault = found("all.log", text.as_bytes()).unwrap_err();
    assert_eq!(fault.line as usize, before.lines().count() + 1);
    assert!(fault.reason.contains("`--report-checkpoints`"), "{}", fault.reason);
}

#[test]
fn reports_of_other_scripts_in_one_file_are_other_phases() {
    let report = text_of("sb.o.read-only.range10.pk1.dop4");
    let writes = report.replace("oltp_read_only.lua", "oltp_write_only.lua");
    let filled = "+ sysbench oltp_insert.lua prepare\n";
    let text = format!("{filled}{report}{writes}{filled}{report}");
    let (_, found) = found("all.log", text.as_bytes()).unwrap();
    let rates = found.values.iter().filter(|value| value.metric == "ops_per_second");
    let told: Vec<(&str, u32)> =
        rates.map(|value| (value.cell.phase.as_str(), value.cell.report)).collect();
    let reads = "all script=oltp_read_only";
    assert_eq!(told, [(reads, 0), ("all script=oltp_write_only", 0), (reads, 1)]);
    assert!(found.values.iter().all(|value| !value.cell.levels.contains_key("script")));
}

#[test]
fn a_test_of_pgbench_may_end_long_after_its_duration() {
    let of = |rate: &str| {
        let text = text_of("pgbench-old.txt").replace("726.811975", rate);
        found("late.txt", text.as_bytes()).map(|(_, found)| found.warnings)
    };
    // A last transaction that waited 20 s for a lock, and a number that lost a digit.
    assert_eq!(of("436.080000"), Ok(Vec::new()));
    assert!(of("72.681197").unwrap_err().reason.contains("contradicts 21804 transactions in 30 s"));
}

#[test]
fn wide_captures_of_vmstat_and_those_with_times_are_read() {
    let plain = values(&found("vmstat.txt", &data("vmstat.txt")).unwrap().1);
    let text = text_of("vmstat.txt");
    let timed = |line: &str| match line.split_whitespace().next() {
        Some("procs") => format!("--{}-- -----timestamp-----\n", line.replacen(' ', "-- ", 1)),
        Some("r") => format!("{line}                 UTC\n"),
        _ => format!("{line} 2026-01-02 03:04:05\n"),
    };
    let text: String = text.lines().map(timed).collect();
    let (taken, wide) = found("vmstat.txt", text.as_bytes()).unwrap();
    assert_eq!((taken, values(&wide)), ("vmstat", plain));
    assert_eq!(wide.warnings, []);
    // A row ends before the columns of a damaged header.
    let damaged = text_of("vmstat.txt").replace("swpd", "SWPD") + " 1 0\n";
    let (_, damaged) = found("vmstat.txt", damaged.as_bytes()).unwrap();
    assert_eq!(damaged.warnings.len(), 1);
}

#[test]
fn a_quiet_array_is_not_the_one_of_a_busy_device() {
    let reads = |array: &str| {
        let text = format!(
            "Linux 6.1.0 (host)\n\navg-cpu:\n\nDevice r/s rkB/s w/s wkB/s\n\
             md0 {array} 1.00 4.00\nsdb 100.00 400.00 1.00 4.00\n\n"
        );
        let (_, found) = found("iostat.txt", text.as_bytes()).unwrap();
        values(&found)["s1 iostat 0 reads_per_second"].0
    };
    assert_eq!(
        (reads("1.00 4.00"), reads("60.00 240.00"), reads("0.00 0.00")),
        (100.0, 60.0, 100.0)
    );
}

#[test]
fn a_report_of_iostat_since_boot_is_left_out() {
    let of = |text: &str| -> Result<(f64, f64), Fault> {
        let (_, found) = found("iostat.txt", text.as_bytes())?;
        let all = values(&found);
        Ok((all["s1 iostat 0 reads_per_second"].0, all["s1 iostat 0 iostat_samples"].0))
    };
    // Reports end with two empty lines, and `-y` begins with one more.
    let text = text_of("iostat.txt");
    let current = text.replace("1.00\n\n", "1.00\n\n\n");
    assert_eq!(of(&current), Ok((20.0, 1.0)));
    assert_eq!(of(&current.replacen("\n\n", "\n\n\n", 1)), Ok((15.0, 2.0)));
    assert_eq!(of(&text), Ok((15.0, 2.0)));
    let (first, _) = current.split_at(current.rfind("avg-cpu").unwrap());
    let fault = of(first).unwrap_err();
    assert!(fault.reason.contains("the only report is since boot"), "{}", fault.reason);
    let fault = of(&text.replace('.', ",")).unwrap_err();
    assert!(fault.reason.contains("decimal comma?"), "{}", fault.reason);
}
