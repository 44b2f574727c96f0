//! The page of a history: its size, its steps, and that nothing from outside becomes markup.

use analysis::{
    METRICS,
    history::{History, Point, Quantity, Session, Trend, steps},
};
use report::{
    Report, Screen, format,
    history::{Extent, HistoryPage, StepPlace},
};

/// Trends of `points` runs, each with a step in the middle.
fn page(trends: usize, points: usize) -> HistoryPage {
    let metric = METRICS.iter().find(|metric| metric.name == "ops_per_second").unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    let session = |index: usize| Session {
        run: format!("20260101T{index:06}.000Z-0000"),
        started_us: 1_767_225_600_000_000 + index as u64 * 86_400_000_000,
        host: if index < points / 3 { "old host" } else { "new <b>host</b>" }.to_owned(),
        builds: [("head".to_owned(), format!("18.{index} binary 0123456789ab"))].into(),
        notes: vec![format!("commit {index:07x}")],
    };
    let sessions: Vec<Session> = (0..points).map(session).collect();
    let mut trend = |index: usize| {
        let value = |point: usize| {
            let level = if point < points / 2 { 20_000.0 } else { 19_000.0 };
            level + 50.0 * (random.f64() - 0.5)
        };
        let values: Vec<f64> = (0..points).map(value).collect();
        let of = |(session, value): (usize, &f64)| Point { session, value: *value };
        Trend {
            phase: format!("test-{index}"),
            variant: "head".to_owned(),
            metric,
            quantity: Quantity::Value,
            bases: [].into(),
            points: values.iter().enumerate().map(of).collect(),
            found: steps(&values),
        }
    };
    let trends = (0..trends).map(&mut trend).collect();
    let history = History { name: "night<ly>".to_owned(), sessions, trends };
    HistoryPage { history, ..HistoryPage::default() }
}

fn text(page: &HistoryPage, name: &str, extent: Extent) -> String {
    let format = format::find(name).unwrap();
    (format.text)(&Report::default(), &page.document(extent))
}

#[test]
fn fifty_trends_of_a_year_fit_into_two_megabytes() {
    let page = page(50, 365);
    let html = text(&page, "html", Extent::All);
    println!("{} bytes", html.len());
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
    // The step of each trend, and one of 18,250 points by chance.
    let steps = page.history.trends.iter().flat_map(|trend| &trend.found.steps);
    let confirmed: Vec<_> = steps.filter(|step| step.is_confirmed).collect();
    assert_eq!(confirmed.iter().filter(|step| step.at == 182).count(), 50);
    assert_eq!(html.matches("class=\"milestone step\"").count(), confirmed.len());
    assert!(!html.contains("http://") && !html.contains("src="), "asks the network");
    assert!(!html.contains("<b>host") && !html.contains("night<ly>"));
    assert!(html.contains("new &lt;b&gt;host"));
}

#[test]
fn steps_are_told_with_size_interval_and_what_changed_with_them() {
    let mut page = page(1, 40);
    page.commands.insert(StepPlace { trend: 0, step: 0 }, "dbdyno run x".to_owned());
    let table = text(&page, "table", Extent::Steps);
    assert!(table.contains("smallest") && table.contains("largest"), "{table}");
    let counted = "1 confirmed step in 1 trend over 40 runs";
    for expected in [counted, "0.950 worse", "confirmed", "throughput (1/s)"] {
        assert!(table.contains(expected), "{table}");
    }
    assert!(table.contains("commit 0000014") && table.contains("dbdyno run x"), "{table}");
    let long = "dbdyno run nightly --only insert --budget 10m --set 'factors.build=[\"a\",\"b\"]'";
    page.commands.insert(StepPlace { trend: 0, step: 0 }, long.to_owned());
    let screen = Screen { columns: Some(40), ..Screen::default() };
    let narrow = Report { screen, ..Report::default() };
    let table = format::find("table").unwrap();
    let shown = (table.text)(&narrow, &page.document(Extent::Steps));
    assert!(shown.lines().any(|line| line == long), "{shown}");
    page.commands.insert(StepPlace { trend: 0, step: 0 }, "dbdyno run x".to_owned());
    let markdown = text(&page, "markdown", Extent::Steps);
    assert!(markdown.contains("\n\n    dbdyno run x\n"), "{markdown}");
    assert!(text(&page, "html", Extent::All).contains(">throughput (1/s)</text>"));
    let quiet = HistoryPage::default();
    assert!(text(&quiet, "table", Extent::Steps).contains("no step in 0 trends over 0 runs"));
}

#[test]
fn programs_get_one_table_with_every_value_of_all_series() {
    let mut pages = [page(1, 40), page(2, 30)];
    pages[1].history.name = "weekly".to_owned();
    let csv = format::find("csv").unwrap();
    let values = (csv.text)(&Report::default(), &HistoryPage::values(&pages));
    let trends = pages.iter().flat_map(|page| &page.history.trends);
    let points: usize = trends.map(|trend| trend.points.len()).sum();
    let lines: Vec<&str> = values.trim().lines().collect();
    assert_eq!(lines.len(), 1 + points, "{values}");
    assert_eq!(lines[0], "series,test,variant,metric,unit,run,started,value,note");
    assert!(lines.iter().any(|line| line.ends_with(",commit 0000014")), "{values}");
    assert!(lines.iter().filter(|line| line.starts_with("weekly,")).count() > 0, "{values}");
}
