//! Raw iostat captures (`iostat -kx`): `sb.io.*`, or any other with its banner.

use super::Importer;
use crate::{Fault, File, FileHead, Found, samples};

pub(super) const IMPORTER: Importer = Importer {
    name: "iostat",
    help: "raw iostat -kx captures: traffic of the busiest device, an array before its members",
    ends_anywhere: true,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    let banner = head.start.starts_with(b"Linux ") && head.holds("avg-cpu:");
    banner && head.holds("Device")
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let mut faults = Vec::new();
    let devices = samples::iostat(file.lines(), &mut faults)?;
    // The averages that were published say which device they are of by their numbers alone.
    if file.has_averages() {
        found.is_told_elsewhere = true;
        return Ok(());
    }
    found.warnings.extend(faults);
    let Some((name, device)) =
        samples::likely_device(&devices).and_then(|name| Some((name, devices.get(name)?)))
    else {
        return Ok(());
    };
    let mut cell = file.capture_cell("iostat")?;
    cell.levels.insert("device".to_owned(), name.to_owned());
    let count = device.samples as f64;
    for (metric, sum) in [
        ("reads_per_second", device.reads),
        ("read_kib_per_second", device.read_kib),
        ("writes_per_second", device.writes),
        ("write_kib_per_second", device.write_kib),
    ] {
        found.computed(&cell, metric, sum / count, 1);
    }
    found.computed(&cell, "iostat_samples", count, 1);
    Ok(())
}
