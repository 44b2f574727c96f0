//! Leaps of a task: over all instructions of a way at once, to breakpoints of the processor.

use super::{
    code::CodeOf,
    ptrace,
    way::{Ahead, LONGEST, Way},
};
use std::rc::Rc;

/// How a task is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// It stops after every instruction; a repeated string instruction is one.
    Steps,
    /// It stops where it is not known beforehand where it goes.
    Leaps,
}

/// What happened until a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Landing {
    /// A leap that executed as many instructions.
    Leapt(u64),
    /// A leap that ended where its way does not lead: it is not known what was executed.
    Strayed,
    /// No leap.
    Stepped,
}

/// The leaps of one task.
pub(super) struct Leaps {
    task: u32,
    code: CodeOf,
    /// Addresses of the breakpoints, and whether the task stops there.
    breakpoints: [Option<u64>; 2],
    enabled: bool,
    /// What the task is leaping along.
    along: Option<Rc<Ahead>>,
    /// Address of an instruction that is stepped and repeats itself, for want of breakpoints.
    repeated: Option<u64>,
}

impl Leaps {
    pub(super) fn new(task: u32, pace: Pace) -> Self {
        let longest = match pace {
            Pace::Steps => 1,
            Pace::Leaps => LONGEST,
        };
        let code = CodeOf::new(task, longest);
        Self { task, code, breakpoints: [None; 2], enabled: false, along: None, repeated: None }
    }

    /// Prepares a leap of a stopped task from the address of its next instruction; false if a step
    /// has to do. The task is to go on without steps then.
    pub(super) fn prepare(&mut self, at: u64) -> bool {
        let ahead = self.code.ahead(at);
        let way = match ahead.as_ref() {
            Ahead::Way(way) => way,
            Ahead::SystemCall => {
                self.code.before_system_call();
                return false;
            }
            Ahead::Step => return false,
        };
        let set = self.set(way);
        self.repeated = (way.repeats && !set).then_some(at);
        self.along = set.then_some(ahead);
        set
    }

    fn set(&mut self, way: &Way) -> bool {
        for (number, address) in way.ends.into_iter().enumerate() {
            if self.breakpoints[number] != Some(address) {
                let set = ptrace::set_breakpoint(self.task, number, address).is_ok();
                self.breakpoints[number] = set.then_some(address);
                if !set {
                    return false;
                }
            }
        }
        self.enabled = self.enabled || ptrace::enable_breakpoints(self.task).is_ok();
        self.enabled
    }

    /// Lets the task pass the breakpoints. A step that begins at one would meet it, and one that
    /// nobody waits for would be deadly.
    pub(super) fn disable(&mut self) {
        self.enabled = self.enabled && ptrace::disable_breakpoints(self.task).is_err();
    }

    /// Ends the leap of a task that has stopped at an address, if there was one.
    pub(super) fn end(&mut self, at: Option<u64>) -> Landing {
        let repeated = self.repeated.take();
        let Some(along) = self.along.take() else {
            let same = repeated.is_some() && repeated == at;
            return if same { Landing::Leapt(0) } else { Landing::Stepped };
        };
        let (Ahead::Way(way), Some(at)) = (along.as_ref(), at) else { return Landing::Leapt(0) };
        way.executed(at).map_or(Landing::Strayed, Landing::Leapt)
    }
}
