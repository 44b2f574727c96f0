//! Who uses the CPUs while nothing is measured.

use model::environment::cpus_of;
use probe::HostTime;
use std::{collections::BTreeMap, path::Path};

/// CPU time by use.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Load {
    /// Of the host's CPUs.
    host: HostTime,
    /// CPUs.
    cpus: usize,
    /// Processes with their time in ticks of the kernel, by number.
    processes: BTreeMap<u32, (String, u64)>,
}

impl Load {
    /// The counters of `/proc`, or of a folder like it, until now.
    pub(crate) fn now(proc: &Path) -> Self {
        Self::of(proc, HostTime::of)
    }

    fn of(proc: &Path, time: impl Fn(&str) -> Option<HostTime>) -> Self {
        let stat = fs_err::read_to_string(proc.join("stat")).unwrap_or_default();
        Self {
            host: time(&stat).unwrap_or_default(),
            cpus: cpus_of(&stat),
            processes: processes(proc),
        }
    }

    /// The same at a moment of a test.
    #[cfg(test)]
    pub(crate) fn at(proc: &Path, ns: f64) -> Self {
        Self::of(proc, |stat| HostTime::at(stat, ns))
    }

    /// What happened since an earlier moment.
    pub(crate) fn since(self, before: &Self) -> Self {
        let used = |(pid, (name, ticks)): (u32, (String, u64))| {
            let earlier = before.processes.get(&pid).map_or(0, |(_, ticks)| *ticks);
            (pid, (name, ticks.saturating_sub(earlier)))
        };
        Self {
            host: self.host - before.host,
            cpus: self.cpus,
            processes: self.processes.into_iter().map(used).collect(),
        }
    }

    /// Share of all CPU time that was used; none if no time went by.
    pub(crate) fn busy_share(&self) -> Option<f64> {
        self.share(self.host.busy_ns)
    }

    /// Share of all CPU time that the hypervisor gave to other guests.
    pub(crate) fn stolen_share(&self) -> Option<f64> {
        self.share(self.host.steal_ns)
    }

    fn share(&self, ns: f64) -> Option<f64> {
        (self.host.whole_ns > 0.0).then(|| (ns / self.host.whole_ns).clamp(0.0, 1.0))
    }

    /// Number of CPUs; 1 where it is not told.
    pub(crate) fn cpus(&self) -> f64 {
        self.cpus.max(1) as f64
    }

    /// The process that used most, with its number.
    pub(crate) fn busiest(&self) -> Option<(u32, &str)> {
        let used = self.processes.iter().filter(|(_, (_, ticks))| *ticks > 0);
        let (pid, (name, _)) = used.max_by_key(|(_, (_, ticks))| *ticks)?;
        Some((*pid, name))
    }
}

/// Name and CPU time of every process.
fn processes(proc: &Path) -> BTreeMap<u32, (String, u64)> {
    let Ok(entries) = fs_err::read_dir(proc) else { return BTreeMap::new() };
    let process = |entry: fs_err::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs_err::read(entry.path().join("stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name may be any bytes, brackets too, so it ends at the last one.
        let (head, fields) = stat.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let mut times = fields.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
        Some((pid, (name.to_owned(), times.next()?? + times.next()??)))
    };
    entries.flatten().filter_map(process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::tick_ns;

    #[test]
    fn shares_are_those_of_the_time_between() {
        let lab = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = lab.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        let of = |pid: u32, name: &str, user: u64| {
            let stat = format!("{pid} ({name}) S 1 1 1 0 -1 0 1 2 3 4 {user} 5 0 0 20 0\n");
            write(&format!("{pid}/stat"), &stat);
        };
        let cpus = "cpu0 1 1 1 1\ncpu1 1 1 1 1\n";
        write("stat", &format!("cpu  100 0 50 1000 10 0 0 5 0 0\n{cpus}"));
        of(7, "a b) c", 500);
        of(8, "quiet", 9000);
        let before = Load::at(lab.path(), 1000.0 * tick_ns());
        assert_eq!((before.cpus(), Load::default().cpus()), (2.0, 1.0));
        // 200 ticks of both CPUs, 60 idle and 10 stolen; the clock saw fewer busy ones.
        write("stat", &format!("cpu  130 2 60 1060 10 4 4 15 0 0\n{cpus}"));
        of(7, "a b) c", 520);
        let load = Load::at(lab.path(), 1100.0 * tick_ns()).since(&before);
        assert_eq!(load.busiest(), Some((7, "a b) c")));
        let about = |share: Option<f64>, expected: f64| (share.unwrap() - expected).abs() < 1e-9;
        assert!(about(load.busy_share(), 0.65), "{load:?}");
        assert!(about(load.stolen_share(), 0.05), "{load:?}");
        assert_eq!(Load::now(&lab.path().join("none")).busy_share(), None);
    }
}
