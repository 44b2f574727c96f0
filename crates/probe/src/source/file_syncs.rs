//! How often files were made durable, per task.

use super::{Probe, Purpose, Reader};
use crate::{
    Error, Target, Values,
    attach::{self, Event},
    counter, limit, mount,
    part::{Part, Parts, Sums, members},
    tracefs,
};

const FSYNCS: &str = "fsyncs";

const COUNTERS: &[crate::Counter] = &[counter::total(
    FSYNCS,
    "syncs",
    "syncs of files: fsync, fdatasync, and where the file system reports them msync, io_uring's \
     and synchronous writes",
)];

/// Syncs of files through the kernel's trace events.
pub(super) const PROBE: Probe = Probe { name: "file_syncs", counters: COUNTERS, open };

// `dbdyno doctor` names what a host lacks here, not every table of costs.
fn open(target: &Target, purpose: Purpose) -> Result<Option<Box<dyn Reader>>, Error> {
    let members = members(target);
    if purpose == Purpose::Series || members.is_empty() {
        return Ok(None);
    }
    let mount = mount::of_target(target);
    let Ok(found) = tracefs::sync_events(&target.proc_root, mount) else {
        return Ok(None);
    };
    limit::make_room((found.ids.len() * members.len()) as u64)?;
    let mut attached = Vec::new();
    for member in &members {
        for id in &found.ids {
            match attach::attach(Event::traced(FSYNCS, *id), member.tid) {
                Ok(counter) => attached.push((counter, member.part)),
                // The task ended meanwhile.
                Err(error) if attach::has_ended(&error) => break,
                Err(error) if attach::is_refusal(&error) => return Ok(None),
                Err(reason) => {
                    return Err(Error::Attach { counter: FSYNCS, task: member.tid, reason });
                }
            }
        }
    }
    Ok(Some(Box::new(Open { attached, parts: Parts::of(target) })))
}

struct Open {
    attached: Vec<(perf_event::Counter, Part)>,
    parts: Parts,
}

impl Reader for Open {
    fn read(&mut self, values: &mut Values) -> Result<(), Error> {
        let mut sum = Sums::default();
        for (counter, part) in &mut self.attached {
            let count = counter.read().map_err(|reason| Error::Read { counter: FSYNCS, reason })?;
            sum.add(*part, count as f64);
        }
        sum.emit(FSYNCS, self.parts, values);
        Ok(())
    }
}
