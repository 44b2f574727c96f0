//! What charts of the page say of their axes and bars.

use crate::lab::{TWO, comparison, report};
use report::render;

#[test]
fn bars_of_costs_are_better_where_they_are_shorter() {
    let instructions = ["foreground_user_instructions_per_op"];
    let page = render(&report(comparison(&TWO, 1, None), &instructions), "html").unwrap();
    assert!(page.contains("shorter bars are cheaper"), "{page}");
    assert!(!page.contains("longer bars are faster"), "{page}");
}

#[test]
fn an_axis_over_users_has_the_unit_of_its_metric() {
    let mut comparison = comparison(&TWO, 1, None);
    comparison.phases.truncate(2);
    let host = analysis::metric("host_cpu_percent_per_op").unwrap();
    for (phase, clients) in comparison.phases.iter_mut().zip([1, 8]) {
        phase.phase = format!("scan.clients{clients}");
        phase.workload = "scan".to_owned();
        phase.clients = clients;
        let times = phase.cells.iter_mut().filter(|c| c.metric.name == "server_cpu_us_per_op");
        times.for_each(|cell| cell.metric = host);
    }
    let page = render(&report(comparison, &[]), "html").unwrap();
    assert!(page.contains(">% s/op</text>") && !page.contains(">us/op</text>"), "{page}");
    assert!(page.contains(": CPU time of the host per operation</figcaption>"), "{page}");
}

#[test]
fn of_what_has_no_better_end_nothing_is_counted_as_worse_or_the_same() {
    let page = |metric: &str| {
        let mut comparison = comparison(&TWO, 1, None);
        let metric = analysis::metric(metric).unwrap();
        for phase in &mut comparison.phases {
            phase.cells.retain(|cell| cell.metric.name == "ops_per_second");
            phase.cells.iter_mut().for_each(|cell| cell.metric = metric);
        }
        render(&report(comparison, &[]), "html").unwrap()
    };
    let counted = page("recall");
    assert!(counted.contains("0.95 to 1.05") && counted.contains("right is better"), "{counted}");
    let plain = page("rows_per_op");
    assert!(plain.contains(">rows of</th>") && plain.contains(">0.62</td>"), "{plain}");
    assert!(!plain.contains("0.95 to 1.05") && !plain.contains("right is"), "{plain}");
}

#[test]
fn of_equal_rates_that_of_the_fewest_users_is_the_peak() {
    let mut comparison = comparison(&TWO, 1, None);
    comparison.phases.truncate(2);
    for (phase, clients) in comparison.phases.iter_mut().zip([1, 8]) {
        phase.phase = format!("scan.clients{clients}");
        phase.workload = "scan".to_owned();
        phase.clients = clients;
        for cell in phase.cells.iter_mut().filter(|c| c.metric.name == "ops_per_second") {
            cell.value = Some(if cell.base.is_some() { 500.0 } else { 400.0 });
        }
    }
    let page = render(&report(comparison, &[]), "html").unwrap();
    let said = "mysql-5.6.24 peaks at 400 with 1 user; mysql-9.7.4 peaks at 500 with 1 user<";
    assert!(page.contains(said), "{page}");
}
