//! Memory of the host: pages that wait to be written, and swapping.

use super::{Probe, Purpose, Reader};
use crate::{Counter, Error, Target, Values, counter};
use model::reading::Scope;
use std::path::PathBuf;

const COUNTERS: &[Counter] = &[
    counter::level("host_dirty_kib", "KiB", "dirty file pages"),
    counter::level("host_writeback_kib", "KiB", "file pages under writeback"),
    counter::total("host_swap_in_kib", "KiB", "read from swap"),
    counter::total("host_swap_out_kib", "KiB", "written to swap"),
];

/// Names of the kernel, each in pages, in the order of [`COUNTERS`].
const NAMES: [&str; COUNTERS.len()] = ["nr_dirty", "nr_writeback", "pswpin", "pswpout"];

/// Counters of `/proc/vmstat`.
pub(super) const PROBE: Probe = Probe { name: "vmstat", counters: COUNTERS, open };

fn open(target: &Target, _: Purpose) -> Result<Option<Box<dyn Reader>>, Error> {
    let path = target.proc_root.join("vmstat");
    if !path.exists() {
        return Ok(None);
    }
    let page_kib = procfs::page_size() as f64 / 1024.0;
    Ok(Some(Box::new(Open { path, page_kib })))
}

struct Open {
    path: PathBuf,
    page_kib: f64,
}

impl Reader for Open {
    fn read(&mut self, values: &mut Values) -> Result<(), Error> {
        let text = fs_err::read_to_string(&self.path)
            .map_err(|e| Error::Source { path: self.path.clone(), reason: e.to_string() })?;
        for line in text.lines() {
            let Some((name, pages)) = line.split_once(' ') else { continue };
            let Some(index) = NAMES.iter().position(|known| *known == name) else { continue };
            if let Ok(pages) = pages.trim().parse::<f64>() {
                values.push(Scope::Host, COUNTERS[index].name, pages * self.page_kib);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn pages_become_kib() {
        let fake = FakeProc::new();
        fake.write("vmstat", "nr_free_pages 7\nnr_dirty 3\nnr_writeback 0\npswpin 2\npswpout x\n");
        let mut reader = open(&fake.target(), Purpose::Series).unwrap().unwrap();
        let mut values = Values::default();
        reader.read(&mut values).unwrap();
        let page = procfs::page_size() as f64 / 1024.0;
        assert_eq!(values.get(Scope::Host, "host_dirty_kib"), Some(3.0 * page));
        assert_eq!(values.get(Scope::Host, "host_swap_in_kib"), Some(2.0 * page));
        assert_eq!(values.get(Scope::Host, "host_swap_out_kib"), None);
        assert_eq!(values.iter().count(), 3);
    }
}
