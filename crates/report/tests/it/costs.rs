//! Where the time of an operation goes, in the HTML report.

use crate::lab::{TWO, comparison, page};

#[test]
fn cpu_time_of_a_whole_server_is_not_called_that_of_serving_tasks() {
    let serving = "CPU time of the tasks that serve it";
    let with = with_costs(&["foreground_cpu_us_per_op"]);
    assert!(with.contains(serving) && with.contains("the rest: waiting"));
    let without = with_costs(&[]);
    assert!(without.contains("CPU time of the whole server, background included"));
    assert!(!without.contains(serving) && !without.contains("the rest: waiting"));
}

/// A page whose phases have one value for each of these metrics, and no other of serving tasks.
fn with_costs(metrics: &[&str]) -> String {
    let mut comparison = comparison(&TWO, 1, None);
    for phase in &mut comparison.phases {
        phase.cells.retain(|cell| !cell.metric.name.starts_with("foreground"));
        let with_copies = |cell: analysis::Cell| {
            let is_server = cell.metric.name == "server_cpu_us_per_op";
            let metrics = metrics.iter().filter(|_| is_server);
            let copies = metrics.map(|metric| analysis::Cell {
                metric: analysis::metric(metric).unwrap(),
                ..cell.clone()
            });
            copies.chain([cell.clone()]).collect::<Vec<_>>()
        };
        phase.cells = std::mem::take(&mut phase.cells).into_iter().flat_map(with_copies).collect();
    }
    page(comparison)
}

#[test]
fn where_the_time_goes_is_told_of_one_part_of_the_server() {
    let foreground = [
        "foreground_cpu_us_per_op",
        "foreground_user_instructions_per_op",
        "foreground_kernel_instructions_per_op",
        "foreground_cycles_per_op",
    ];
    let told = |page: &str| {
        let texts = ["CPU time of the tasks that serve it", "the rest: ", "cycles per instruction"];
        texts.map(|text| page.contains(text))
    };
    assert_eq!(told(&with_costs(&foreground)), [true, true, true]);
    // The client's time and the foreground's instructions are not those of the lead role alone.
    let beside = [&foreground[..], &["lead_cpu_us_per_op"]].concat();
    assert_eq!(told(&with_costs(&beside)), [true, false, false]);
}

#[test]
fn where_the_time_goes_is_told_of_a_known_number_of_clients() {
    let told = |clients: Option<u32>| {
        let mut comparison = comparison(&TWO, 1, None);
        for phase in &mut comparison.phases {
            phase.clients = clients.unwrap_or(phase.clients);
        }
        page(comparison).contains("time of an operation, of one client")
    };
    assert!(told(None) && !told(Some(0)));
}
