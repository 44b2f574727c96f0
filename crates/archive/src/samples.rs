//! Averages of raw samplers, as they should be and as the published scripts make them.

use crate::{Fault, Line, number};
use std::collections::BTreeMap;

/// Why a row is not counted.
const NO_ROW: &str = "the row has no number in a column, or one below 0; it is left out";

/// The rows of a vmstat capture.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Vmstat {
    /// Rows with numbers.
    pub rows: u64,
    /// What the published scripts count: the rows, and the first line of every repeated header.
    pub samples: u64,
    /// Context switches per second: sum over the rows, and the first row, which is since boot.
    pub switches: Sum,
    /// User and system time in percent of all CPUs.
    pub cpu_percent: Sum,
}

/// A sum over rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sum {
    /// Of all rows.
    pub all: f64,
    /// The first row alone.
    pub first: f64,
}

impl Vmstat {
    /// Reads a capture. Rows that are not complete are left out and become faults.
    pub fn read<'a>(
        lines: impl Iterator<Item = Line<'a>>,
        faults: &mut Vec<Fault>,
    ) -> Result<Self, Fault> {
        let mut found = Self::default();
        let mut columns: Option<[usize; 4]> = None;
        let mut headers: u64 = 0;
        let mut last = 0;
        for line in lines {
            last = line.number;
            let words: Vec<&str> = line.text.split_whitespace().collect();
            match words.first() {
                None => {}
                Some(&("procs" | "--procs--")) => headers += 1,
                Some(&"r") => {
                    let place = |name| words.iter().position(|word| *word == name);
                    let named = ["cs", "us", "sy"].map(place);
                    let [Some(cs), Some(us), Some(sy)] = named else {
                        let reason = "the header lacks `cs`, `us` or `sy`";
                        return Err(Fault::new(line.number, reason));
                    };
                    // Behind them may be a time zone, the title of times in two columns.
                    let is_title = |word: &&&str| word.bytes().all(|b| b.is_ascii_lowercase());
                    let titles = words.iter().take_while(is_title).count();
                    let count = titles.max(1 + cs.max(us).max(sy));
                    columns = Some([cs, us, sy, count]);
                }
                Some(_) => match columns.and_then(|columns| row(&words, columns)) {
                    Some(numbers) => found.add(numbers),
                    None => faults.push(Fault::new(line.number, NO_ROW)),
                },
            }
        }
        if found.rows == 0 {
            return Err(Fault::new(last, "the capture has no rows with numbers"));
        }
        found.samples = found.rows + headers.saturating_sub(1);
        Ok(found)
    }

    fn add(&mut self, [switches, user, system]: [f64; 3]) {
        for (sum, value) in [(&mut self.switches, switches), (&mut self.cpu_percent, user + system)]
        {
            if self.rows == 0 {
                sum.first = value;
            }
            sum.all += value;
        }
        self.rows += 1;
    }

    /// The mean as the published scripts compute it: repeated headers count as samples of zeros,
    /// and the first row, which is since boot, counts too.
    pub fn published(&self, sum: Sum) -> f64 {
        sum.all / self.samples as f64
    }

    /// The mean over the rows without the first one.
    pub fn exact(&self, sum: Sum) -> Option<f64> {
        (self.rows > 1).then(|| (sum.all - sum.first) / (self.rows - 1) as f64)
    }
}

fn row(words: &[&str], [cs, us, sy, count]: [usize; 4]) -> Option<[f64; 3]> {
    if words.len() < count || !words[..count].iter().all(|word| number::parse(word).is_some()) {
        return None;
    }
    Some([number::quantity(words[cs])?, number::quantity(words[us])?, number::quantity(words[sy])?])
}

/// The rows of one device in an iostat capture: sums over the reports.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Device {
    /// Reports that hold the device.
    pub samples: u64,
    /// Reads per second.
    pub reads: f64,
    /// KiB read per second.
    pub read_kib: f64,
    /// Writes per second.
    pub writes: f64,
    /// KiB written per second.
    pub write_kib: f64,
}

/// Columns of iostat that are read: old and new layouts name them alike.
const IOSTAT: [&str; 4] = ["r/s", "rkB/s", "w/s", "wkB/s"];

/// Whether the first report of an iostat capture is the one since boot. For that one, `-y` prints
/// only an empty line behind that of the banner. Old versions, with one empty line between reports
/// and not two, print none: their captures do not tell.
fn begins_since_boot(lines: &[Line<'_>]) -> bool {
    let is_empty = |line: &&Line<'_>| line.text.trim().is_empty();
    let behind_banner = lines.iter().skip(1).take_while(is_empty).count();
    let table = lines.iter().skip_while(|line| !line.text.starts_with("Device"));
    let between = table.skip_while(|line| !is_empty(line)).take_while(is_empty).count();
    behind_banner == 1 && between > 1
}

/// Reads an iostat capture (`-kx`), by device, without a report since boot. Rows that are not
/// complete are left out and become faults.
pub fn iostat<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    faults: &mut Vec<Fault>,
) -> Result<BTreeMap<String, Device>, Fault> {
    let lines: Vec<Line<'a>> = lines.collect();
    let mut devices: BTreeMap<String, Device> = BTreeMap::new();
    let mut columns: Option<([usize; 4], usize)> = None;
    let (mut reports, mut last) = (0, 0);
    let (mut is_first_left_out, mut is_left_out) = (begins_since_boot(&lines), false);
    for line in &lines {
        last = line.number;
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let Some((name, _)) = words.split_first() else {
            columns = None;
            continue;
        };
        if name.trim_end_matches(':') == "Device" {
            let places = IOSTAT.map(|name| words.iter().position(|word| *word == name));
            let [Some(reads), Some(read_kib), Some(writes), Some(write_kib)] = places else {
                let names = IOSTAT.join("`, `");
                return Err(Fault::new(last, format!("the header lacks one of `{names}`")));
            };
            columns = Some(([reads, read_kib, writes, write_kib], words.len()));
            is_left_out = std::mem::take(&mut is_first_left_out);
            reports += u64::from(!is_left_out);
            continue;
        }
        let Some((places, count)) = columns.filter(|_| !is_left_out) else { continue };
        let numbers = places.map(|place| words.get(place).and_then(|word| number::quantity(word)));
        match numbers {
            [Some(reads), Some(read_kib), Some(writes), Some(write_kib)]
                if words.len() == count =>
            {
                let device = devices.entry((*name).to_owned()).or_default();
                device.samples += 1;
                device.reads += reads;
                device.read_kib += read_kib;
                device.writes += writes;
                device.write_kib += write_kib;
            }
            _ => faults.push(Fault::new(last, NO_ROW)),
        }
    }
    if devices.is_empty() {
        let reason = match (faults.is_empty(), is_left_out) {
            (false, _) => "no row of a device has its numbers (decimal comma? use `LC_ALL=C`)",
            (true, true) => "the only report is since boot; give `iostat` an interval",
            (true, false) => "the capture has no rows of devices",
        };
        return Err(Fault::new(last, reason));
    }
    faults.extend(idle(&devices, reports).map(|reason| Fault::new(last, reason)));
    Ok(devices)
}

/// What is said of a device that reports leave out while it does nothing. The last one may be cut.
fn idle(devices: &BTreeMap<String, Device>, reports: u64) -> Option<String> {
    let name = likely_device(devices)?;
    let samples = devices.get(name)?.samples;
    (samples + 1 < reports).then(|| {
        format!(
            "only {samples} of {reports} reports hold `{name}`, and its rates are means of these: \
             too high if `iostat -z` left it out while it was idle; capture without `-z`"
        )
    })
}

/// Part of the traffic of the busiest device that an array has at least, if that is a member of it:
/// arrays can share members, and checksums of an array add to theirs.
const ARRAY_PART: f64 = 0.25;

/// The device that a server most likely used: the one with the most traffic, but an array before
/// its members.
pub fn likely_device(devices: &BTreeMap<String, Device>) -> Option<&str> {
    let traffic = |device: &Device| device.read_kib + device.write_kib;
    let order = |a: &(&String, &Device), b: &(&String, &Device)| {
        traffic(a.1).total_cmp(&traffic(b.1)).then(b.0.cmp(a.0))
    };
    let (name, busiest) = devices.iter().max_by(order)?;
    let least = (ARRAY_PART * traffic(busiest)).max(f64::MIN_POSITIVE);
    let arrays =
        devices.iter().filter(|(name, device)| name.starts_with("md") && traffic(device) >= least);
    Some(arrays.max_by(order).map_or(name, |(name, _)| name).as_str())
}
