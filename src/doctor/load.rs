//! Who uses the CPUs while nothing is measured.

use model::environment::cpus_of;
use std::{collections::BTreeMap, path::Path};

/// CPU time by use, in ticks of the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// All CPU time that went by.
    total: u64,
    /// Of it, what processes and the kernel used.
    busy: u64,
    /// Of it, what the hypervisor gave to others.
    stolen: u64,
    /// CPUs.
    cpus: usize,
    /// Processes with their time, by number.
    processes: BTreeMap<u32, (String, u64)>,
}

impl Load {
    /// The counters of `/proc`, or of a folder like it, until now.
    pub(crate) fn at(proc: &Path) -> Self {
        let stat = fs_err::read_to_string(proc.join("stat")).unwrap_or_default();
        let mut load = Self { processes: processes(proc), ..Self::default() };
        let Some(line) = stat.lines().find_map(|line| line.strip_prefix("cpu ")) else {
            return load;
        };
        let ticks: Vec<u64> = line.split_whitespace().map(|n| n.parse().unwrap_or(0)).collect();
        // Time of guests, which follows, is part of user time.
        let [user, nice, system, idle, iowait, irq, softirq, steal] =
            std::array::from_fn(|at| ticks.get(at).copied().unwrap_or(0));
        load.busy = user + nice + system + irq + softirq;
        load.stolen = steal;
        load.cpus = cpus_of(&stat);
        load.total = load.busy + steal + idle + iowait;
        load
    }

    /// What happened since an earlier moment.
    pub(crate) fn since(self, before: &Self) -> Self {
        let used = |(pid, (name, ticks)): (u32, (String, u64))| {
            let earlier = before.processes.get(&pid).map_or(0, |(_, ticks)| *ticks);
            (pid, (name, ticks.saturating_sub(earlier)))
        };
        Self {
            total: self.total.saturating_sub(before.total),
            busy: self.busy.saturating_sub(before.busy),
            stolen: self.stolen.saturating_sub(before.stolen),
            cpus: self.cpus,
            processes: self.processes.into_iter().map(used).collect(),
        }
    }

    /// Share of all CPU time that was used; none if no time went by.
    pub(crate) fn busy_share(&self) -> Option<f64> {
        (self.total > 0).then(|| self.busy as f64 / self.total as f64)
    }

    /// Number of CPUs; 1 where it is not told.
    pub(crate) fn cpus(&self) -> f64 {
        self.cpus.max(1) as f64
    }

    /// Share of all CPU time that the hypervisor gave to other guests.
    pub(crate) fn stolen_share(&self) -> Option<f64> {
        (self.total > 0).then(|| self.stolen as f64 / self.total as f64)
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
        write("stat", "cpu  100 0 50 1000 10 0 0 5 0 0\ncpu0 1 1 1 1\ncpu1 1 1 1 1\n");
        of(7, "a b) c", 500);
        of(8, "quiet", 9000);
        let before = Load::at(lab.path());
        assert_eq!((before.cpus(), Load::default().cpus()), (2.0, 1.0));
        write("stat", "cpu  130 2 60 1050 10 4 4 15 0 0\n");
        of(7, "a b) c", 520);
        let load = Load::at(lab.path()).since(&before);
        assert_eq!((load.total, load.busy, load.stolen), (110, 50, 10));
        assert_eq!(load.busiest(), Some((7, "a b) c")));
        assert_eq!(load.busy_share(), Some(50.0 / 110.0));
        assert_eq!(Load::at(&lab.path().join("none")).busy_share(), None);
    }
}
