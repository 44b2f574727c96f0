//! Raw vmstat captures: `sb.vm.*`, or any other with its headers.

use super::Importer;
use crate::{Fault, File, FileHead, Found, bias, samples::Vmstat as Rows};

pub(super) const IMPORTER: Importer = Importer {
    name: "vmstat",
    help: "raw vmstat captures: CPU and context switches of the host",
    ends_anywhere: true,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    head.start.starts_with(b"procs ---") || head.start.starts_with(b"--procs-- ---")
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let rows = Rows::read(file.lines(), &mut found.warnings)?;
    let cell = file.capture_cell("vmstat")?;
    let at = 1;
    // Kept beside the published averages, which a correction replaces by these.
    for (metric, sum) in [
        ("host_cpu_percent_exact", rows.cpu_percent),
        ("host_context_switches_per_second_exact", rows.switches),
    ] {
        if let Some(exact) = rows.exact(sum) {
            found.computed(&cell, metric, exact, at);
        }
    }
    found.computed(&cell, "vmstat_rows", rows.rows as f64, at);
    if file.has_averages() {
        return Ok(());
    }
    let (cpu, cs) = (rows.published(rows.cpu_percent), rows.published(rows.switches));
    found.computed(&cell, "host_cpu_percent", cpu, at);
    found.computed(&cell, "host_context_switches_per_second", cs, at);
    found.computed(&cell, "vmstat_samples", rows.samples as f64, at);
    found.bias("host_cpu_percent", bias::VMSTAT_HEADERS);
    found.bias("host_context_switches_per_second", bias::VMSTAT_HEADERS);
    Ok(())
}
