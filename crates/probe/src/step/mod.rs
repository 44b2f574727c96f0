//! User instructions without hardware counters: one step of the processor after the other.
//!
//! Most virtual machines have no counters of instructions. Their processors still stop after each
//! instruction where a debugger asks for it, and a count of those stops is exact; only it is slow.
//! A step took 20 to 50 microseconds in a virtual machine whose hypervisor has a part in each stop.
//! So a few operations are stepped outside all measured windows, and time means nothing while it
//! lasts.
//!
//! It is not necessary to stop after each instruction. What a task executes until the next branch
//! is known from its code, so it leaps to breakpoints behind that branch, and the instructions
//! between are counted without being seen. A leap costs little more than a step. Leaps are used
//! where they were found to count the same as steps, on this host.
//!
//! What counts is what hardware counts: a repeated string instruction is one, however often it
//! repeats, and a system call is the one instruction that enters the kernel.

mod code;
mod cpu;
mod leap;
mod permission;
mod ptrace;
mod tracee;
mod tracer;
mod way;

pub use permission::{stepping_permitted, stepping_rate};

use crate::Error;
use leap::Pace;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use tracer::{Outcome, Tracer};

/// Instructions of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepCount {
    /// Kernel task.
    pub task: u32,
    /// Instructions in user mode while it was stepped; of a task that ended, those until its end.
    pub instructions: u64,
}

/// Steps tasks until it is stopped or dropped.
///
/// A stepped task does all that it did before, only slower, and goes on at full speed afterwards.
/// Its new threads and children are not stepped. It must not belong to this process, and nobody
/// else may wait for it as a child meanwhile: the waiting would take the stops away from the
/// counting.
///
/// If this process is killed meanwhile, the kernel ends the tasks' processes with a trap. So a
/// server that is not ours to lose must not be stepped.
pub struct Stepper {
    stop: Arc<AtomicBool>,
    tracer: u32,
    done: Receiver<Outcome>,
    thread: Option<JoinHandle<()>>,
    limit: Duration,
}

/// Distance of the nudges that wake the tracer where all tasks sleep.
const NUDGE: Duration = Duration::from_millis(1);

impl Stepper {
    /// Begins to step `tasks`, kernel tasks of other processes, as soon as they sleep: so the count
    /// is of whole operations. Tasks that never sleep are attached after 0.2 seconds.
    ///
    /// # Errors
    /// If a task does not exist, is stepped already, or may not be stepped. Then none is stepped.
    pub fn attach(tasks: &[u32]) -> Result<Self, Error> {
        Self::attach_within(tasks, Duration::MAX)
    }

    /// The same for a limited time: when `limit` is over, the tasks are let go on at full speed and
    /// [`Stepper::stop`] fails. Time while all tasks sleep does not end it.
    ///
    /// # Errors
    /// As for [`Stepper::attach`].
    pub fn attach_within(tasks: &[u32], limit: Duration) -> Result<Self, Error> {
        Self::attach_at(permission::pace(), tasks, limit)
    }

    fn attach_at(pace: Pace, tasks: &[u32], limit: Duration) -> Result<Self, Error> {
        if !ptrace::SUPPORTED {
            let text = "counting by single steps is not supported on this architecture";
            return Err(Error::Absent(text.into()));
        }
        ptrace::handle_nudges().map_err(Error::Tracer)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = channel();
        let (finish, done) = channel();
        let (tasks, flag) = (tasks.to_vec(), Arc::clone(&stop));
        let work = move || match Tracer::attach(&tasks, pace) {
            Ok(tracer) => {
                let _ = tell.send(Ok(ptrace::own_task()));
                let _ = finish.send(tracer.follow(&flag, limit));
            }
            Err(error) => {
                let _ = tell.send(Err(error));
            }
        };
        let thread =
            thread::Builder::new().name("stepper".into()).spawn(work).map_err(Error::Tracer)?;
        let tracer = told.recv().map_err(|_| gone())??;
        Ok(Self { stop, tracer, done, thread: Some(thread), limit })
    }

    /// Waits until the tasks have gone to sleep, which makes the count that of whole operations,
    /// and lets them go on at full speed; tasks that never sleep are let go after 0.2 seconds. The
    /// counts are in the order of the tasks, each once.
    ///
    /// # Errors
    /// If the time that was given was over before, or the kernel led a task elsewhere than its
    /// code.
    pub fn stop(mut self) -> Result<Vec<StepCount>, Error> {
        let outcome = self.end().ok_or_else(gone)?;
        if let Some(task) = outcome.strayed {
            return Err(Error::Strayed { task });
        }
        if outcome.in_time {
            return Ok(outcome.counts);
        }
        let instructions = outcome.counts.iter().map(|count| count.instructions).sum();
        Err(Error::StepsTooMany { instructions, seconds: self.limit.as_secs_f64() })
    }

    fn end(&mut self) -> Option<Outcome> {
        let thread = self.thread.take()?;
        self.stop.store(true, Ordering::Release);
        let outcome = loop {
            // A nudge just before the tracer goes to sleep is lost, so there are several.
            ptrace::nudge(self.tracer);
            match self.done.recv_timeout(NUDGE) {
                Ok(outcome) => break Some(outcome),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break None,
            }
        };
        let _ = thread.join();
        outcome
    }
}

impl Drop for Stepper {
    fn drop(&mut self) {
        self.end();
    }
}

fn gone() -> Error {
    Error::Tracer(std::io::Error::other("it ended early"))
}
