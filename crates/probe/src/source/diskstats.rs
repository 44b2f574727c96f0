//! The block device under the data folder.

use super::{Probe, Purpose, Reader};
use crate::{Counter, Error, Target, Values, counter, mount};
use model::reading::Scope;
use procfs::DiskStat;
use std::path::{Path, PathBuf};

const COUNTERS: &[Counter] = &[
    counter::total("device_reads", "reads", "reads that the device finished"),
    counter::total("device_read_kib", "KiB", "read from the device"),
    counter::total("device_writes", "writes", "writes that the device finished"),
    counter::total("device_write_kib", "KiB", "written to the device"),
    counter::total("device_flushes", "flushes", "flushes of the device's cache"),
    counter::total("device_read_ms", "ms", "time of all reads together"),
    counter::total("device_write_ms", "ms", "time of all writes together"),
    counter::total("device_busy_ms", "ms", "time with at least one request in flight"),
];

/// The kernel's sector in `/proc/diskstats`, whatever the device's own.
const SECTORS_PER_KIB: f64 = 2.0;

/// Counters of a block device.
pub(super) const PROBE: Probe = Probe { name: "diskstats", counters: COUNTERS, open };

fn open(target: &Target, _: Purpose) -> Result<Option<Box<dyn Reader>>, Error> {
    if target.data_folder.as_os_str().is_empty() {
        return Ok(None);
    }
    let path = target.proc_root.join("diskstats");
    let absent = |why: String| Error::Absent(format!("device counters absent: {why}"));
    let mount = mount::of_target(target)
        .ok_or_else(|| absent("the mount of the data folder is not known".into()))?;
    let text = fs_err::read_to_string(&path)
        .map_err(|_| absent("no `/proc/diskstats` on this host".into()))?;
    let lines = text.lines().filter_map(|line| DiskStat::from_line(line).ok());
    let devices: Vec<DiskStat> = lines.collect();
    let device = devices.iter().find(|device| mount.is_on(device)).ok_or_else(|| {
        absent(format!("`{}` at `{}` has no block device", mount.kind, mount.point.display()))
    })?;
    let name = device.name.clone();
    let disk = devices.iter().find(|disk| is_part(&name, &disk.name)).unwrap_or(device);
    if counts_nothing(&target.proc_root.with_file_name("sys"), disk) {
        let name = &disk.name;
        let why = format!("the kernel counts none of `{name}` (`/sys/block/{name}/queue/iostats`)");
        return Err(absent(why));
    }
    let disk = disk.name.clone();
    Ok(Some(Box::new(Open { path, name, disk, times: [Time::default(); 3] })))
}

/// Whether the kernel counts nothing of a disk, so that its counters stand still: `iostats` is 0,
/// or its driver never counts. What holds a file system was read at least once.
fn counts_nothing(sys: &Path, disk: &DiskStat) -> bool {
    let folder = sys.join("block").join(&disk.name);
    let setting = || fs_err::read_to_string(folder.join("queue/iostats")).unwrap_or_default();
    // Drivers without queues of requests count whatever that says.
    let is_off = || folder.join("mq").is_dir() && setting().trim() == "0";
    (disk.reads == 0 && disk.writes == 0) || is_off()
}

/// Whether a device is a partition of a disk: the kernel puts a number behind the disk's name, and
/// a `p` between two numbers.
fn is_part(device: &str, disk: &str) -> bool {
    let rest = device.strip_prefix(disk);
    let number = match disk.ends_with(|last: char| last.is_ascii_digit()) {
        true => rest.and_then(|rest| rest.strip_prefix('p')),
        false => rest,
    };
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

struct Open {
    path: PathBuf,
    name: String,
    /// The disk that the device is or is a part of: the kernel counts flushes of whole disks alone.
    disk: String,
    /// Of reads, of writes, and in which the device was busy.
    times: [Time; 3],
}

/// A time that goes on where the kernel's begins anew: it prints 32 bits of milliseconds, which 49
/// days of requests fill (Documentation/admin-guide/iostats.rst).
#[derive(Debug, Clone, Copy, Default)]
struct Time {
    last: u64,
    earlier: u64,
}

impl Time {
    /// Milliseconds, where the kernel prints `now`.
    fn at(&mut self, now: u64) -> f64 {
        // A little less is no new beginning: the parts that are added up are read one by one.
        if self.last.saturating_sub(now) > u64::from(u32::MAX / 2) {
            self.earlier += 1 << 32;
        }
        self.last = now;
        (self.earlier + now) as f64
    }
}

impl Reader for Open {
    fn read(&mut self, values: &mut Values) -> Result<(), Error> {
        let text = fs_err::read_to_string(&self.path)
            .map_err(|e| Error::Source { path: self.path.clone(), reason: e.to_string() })?;
        // The third word is the name: only one line needs to be parsed.
        let find = |name: &str| {
            let line = text.lines().find(|l| l.split_ascii_whitespace().nth(2) == Some(name))?;
            DiskStat::from_line(line).ok()
        };
        let Some(device) = find(&self.name) else { return Ok(()) };
        let mut push = |name, value| values.push(Scope::Device, name, value);
        push("device_reads", device.reads as f64);
        push("device_read_kib", device.sectors_read as f64 / SECTORS_PER_KIB);
        push("device_writes", device.writes as f64);
        push("device_write_kib", device.sectors_written as f64 / SECTORS_PER_KIB);
        // Those of devices on top of others, as of LVM, are never counted, and are not 0.
        let flushes = find(&self.disk).and_then(|disk| disk.flushes);
        if let Some(flushes) = flushes.filter(|flushes| *flushes > 0) {
            push("device_flushes", flushes as f64);
        }
        let [reading, writing, busy] = &mut self.times;
        push("device_read_ms", reading.at(device.time_reading));
        push("device_write_ms", writing.at(device.time_writing));
        push("device_busy_ms", busy.at(device.time_in_progress));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    const DISKS: &str = "   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n \
                         254 0 vda 10 1 200 3 20 2 400 7 0 9 10 1 1 8 2 5 1\n \
                         254 1 vda1 5 1 100 3 6 2 300 7 0 9 10 0 0 0 0 0 0\n \
                         253 1 dm-1 5 1 100 3 6 2 300 7 0 9 10 0 0 0 0 0 0\n";

    fn open(fake: &FakeProc, folder: &str) -> Result<Box<dyn Reader>, String> {
        let target = Target { data_folder: Path::new(folder).to_path_buf(), ..fake.target() };
        let opened = super::open(&target, Purpose::Window).map_err(|e| e.to_string())?;
        opened.ok_or_else(|| "nothing".into())
    }

    #[test]
    fn the_device_of_the_innermost_mount_is_read() {
        let fake = FakeProc::new();
        fake.write("diskstats", DISKS).write(
            "self/mountinfo",
            "20 1 254:0 / / rw - ext4 /dev/vda rw\n21 20 254:1 / /data rw - xfs /dev/vda1 rw\n\
             22 20 253:1 / /lvm rw - ext4 /dev/mapper/a-b rw\n",
        );
        let mut values = Values::default();
        open(&fake, "/data/x").unwrap().read(&mut values).unwrap();
        assert_eq!(values.get(Scope::Device, "device_write_kib"), Some(150.0));
        assert_eq!(values.get(Scope::Device, "device_flushes"), Some(5.0), "of the whole disk");
        let mut values = Values::default();
        open(&fake, "/lvm").unwrap().read(&mut values).unwrap();
        assert_eq!(values.get(Scope::Device, "device_write_kib"), Some(150.0));
        assert_eq!(values.get(Scope::Device, "device_flushes"), None, "nobody counts them");
        let mut values = Values::default();
        open(&fake, "/elsewhere").unwrap().read(&mut values).unwrap();
        assert_eq!(values.get(Scope::Device, "device_reads"), Some(10.0));
        assert_eq!(values.get(Scope::Device, "device_read_kib"), Some(100.0));
        assert_eq!(values.get(Scope::Device, "device_flushes"), Some(5.0));
    }

    #[test]
    fn a_partition_has_the_name_of_its_disk_and_a_number() {
        let check = |device: &str, disk: &str, expected: bool| {
            assert_eq!(is_part(device, disk), expected, "{device} {disk}");
        };
        check("sda1", "sda", true);
        check("nvme0n1p2", "nvme0n1", true);
        check("sda", "sda", false);
        check("sdaa1", "sda", false);
        check("dm-10", "dm-1", false);
        check("nvme0n1p", "nvme0n1", false);
    }

    #[test]
    fn times_go_on_where_the_kernels_begin_anew() {
        let fake = FakeProc::new();
        fake.write("self/mountinfo", "20 1 254:0 / / rw - ext4 /dev/vda rw\n");
        let disk = |reading: u64, writing: u64, busy: u64| {
            let line = format!("254 0 vda 1 1 1 {reading} 1 1 1 {writing} 0 {busy} 1\n");
            fake.write("diskstats", &line);
        };
        disk(4_294_967_000, 70, 4_294_967_295);
        let mut reader = open(&fake, "/data").unwrap();
        let mut read = || {
            let mut values = Values::default();
            reader.read(&mut values).unwrap();
            ["device_read_ms", "device_write_ms", "device_busy_ms"]
                .map(|counter| values.get(Scope::Device, counter).unwrap())
        };
        let before = read();
        disk(204, 65, 4_294_967_295);
        let after = read();
        let moved = [0, 1, 2].map(|place| after[place] - before[place]);
        assert_eq!(moved, [500.0, -5.0, 0.0]);
    }

    #[test]
    fn a_disk_of_which_nothing_is_counted_is_told_from_an_idle_one() {
        let fake = FakeProc::new();
        let check = |line: &str, expected: bool| {
            let disk = DiskStat::from_line(line).unwrap();
            assert_eq!(counts_nothing(fake.root(), &disk), expected, "{line}");
        };
        let line = |device: &str| format!("{device} 9 0 8 1 0 0 0 0 0 1 1");
        let [vda, zram] = ["254 0 vda", "252 0 zram0"].map(line);
        check(&vda, false);
        fake.write("block/vda/queue/iostats", "0\n").write("block/vda/mq/0/cpu_list", "0\n");
        fake.write("block/zram0/queue/iostats", "0\n");
        check(&vda, true);
        check(&zram, false);
        fake.write("block/vda/queue/iostats", "1\n");
        check(&vda, false);
        check("259 0 pmem0 0 0 0 0 0 0 0 0 0 0 0", true);
    }

    #[test]
    fn a_folder_without_a_device_says_so() {
        let fake = FakeProc::new();
        fake.write("diskstats", DISKS)
            .write("self/mountinfo", "20 1 0:21 / / rw - tmpfs tmpfs rw\n");
        let message = open(&fake, "/data").err();
        let expected = "device counters absent: `tmpfs` at `/` has no block device";
        assert_eq!(message.as_deref(), Some(expected));
    }
}
