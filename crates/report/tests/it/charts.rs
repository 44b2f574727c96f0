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
}
