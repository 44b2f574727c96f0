//! Ways through code on which a task needs no stop.
//!
//! Most instructions lead to the next one, and most jumps and calls to a place that the code names.
//! So it is known beforehand what a task executes until the next branch, and where it can be
//! afterwards: at one address, or at one of two. It stops there by itself if the processor's
//! breakpoints are set to them, and has executed exactly what lies between.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction};

/// Most instructions of a way: a limit of memory, rarely met.
pub(super) const LONGEST: usize = 128;

/// Bytes that are decoded in one piece; an instruction has fifteen at most.
pub(super) const PIECE: usize = 64;
const INSTRUCTION_MAX: usize = 15;

/// What a task executes from an address on until it can go elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Way {
    /// Addresses of the instructions, each once, in their order.
    through: Vec<u64>,
    /// Where the task is when it has executed all of them; none of these is on the way. The same
    /// twice where there is one such place.
    pub(super) ends: [u64; 2],
    /// Whether its first instruction is stepped as often as it repeats itself, and counts as one.
    pub(super) repeats: bool,
}

/// What comes first at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ahead {
    /// A way that is worth a leap.
    Way(Way),
    /// A system call: what it does to the code is not known.
    SystemCall,
    /// Anything else, and what cannot be read: one step tells where it leads.
    Step,
}

impl Way {
    /// Instructions that were executed by a task that set out on this way and stopped at an
    /// address; none if that is not on it.
    pub(super) fn executed(&self, at: u64) -> Option<u64> {
        let count = match self.ends.contains(&at) {
            true => self.through.len(),
            false => self.through.iter().position(|address| *address == at)?,
        };
        Some(count as u64)
    }

    /// Addresses of its instructions.
    pub(super) fn through(&self) -> &[u64] {
        &self.through
    }
}

/// Decodes what lies ahead of an address, at most `longest` instructions. `read` gives up to
/// [`PIECE`] bytes of code from an address on, fewer where the code ends.
pub(super) fn ahead(start: u64, longest: usize, mut read: impl FnMut(u64) -> Vec<u8>) -> Ahead {
    let mut through: Vec<u64> = Vec::new();
    let mut code = Piece::default();
    let mut at = start;
    let mut repeats = false;
    let ends = loop {
        let decoded = code.instruction(at, &mut read);
        if let (Some(instruction), true) = (&decoded, through.is_empty()) {
            if instruction.code() == Code::Syscall {
                return Ahead::SystemCall;
            }
            repeats = is_repeated(instruction);
        }
        let next = decoded.filter(|_| through.len() < longest).map_or(Next::Unknown, leads_to);
        match next {
            Next::One(place) if place != at && !through.contains(&place) => {
                through.push(at);
                at = place;
            }
            Next::Two(places) if !places.iter().any(|p| *p == at || through.contains(p)) => {
                through.push(at);
                break places;
            }
            // The end must not be a place where the task has been before: it would stop there then.
            Next::One(_) | Next::Two(_) | Next::Unknown => break [at, at],
        }
    };
    // A step costs less than a leap over one instruction, unless that repeats itself.
    match through.len() {
        0 => Ahead::Step,
        1 if !repeats => Ahead::Step,
        _ => Ahead::Way(Way { through, ends, repeats }),
    }
}

/// Where an instruction leads.
enum Next {
    One(u64),
    Two([u64; 2]),
    Unknown,
}

fn leads_to(instruction: Instruction) -> Next {
    let target = instruction.near_branch_target();
    match instruction.flow_control() {
        FlowControl::Next if is_harmless(&instruction) => Next::One(instruction.next_ip()),
        FlowControl::UnconditionalBranch if instruction.is_jmp_short_or_near() => Next::One(target),
        FlowControl::Call if instruction.is_call_near() => Next::One(target),
        FlowControl::ConditionalBranch => Next::Two([target, instruction.next_ip()]),
        _ => Next::Unknown,
    }
}

/// Flags from the stack may switch on steps of the task's own.
fn is_harmless(instruction: &Instruction) -> bool {
    !matches!(instruction.code(), Code::Popfq | Code::Popfw)
}

/// Repeated string instructions stop after each repetition when they are stepped, and count as one.
fn is_repeated(instruction: &Instruction) -> bool {
    instruction.is_string_instruction()
        && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
}

/// Code that has been read.
#[derive(Default)]
struct Piece {
    start: u64,
    bytes: Vec<u8>,
}

impl Piece {
    fn instruction(&mut self, at: u64, read: impl FnOnce(u64) -> Vec<u8>) -> Option<Instruction> {
        let inside = |piece: &Self| {
            let offset = usize::try_from(at.checked_sub(piece.start)?).ok()?;
            (offset < piece.bytes.len()).then_some(offset)
        };
        let offset = match inside(self) {
            Some(offset) if offset + INSTRUCTION_MAX <= self.bytes.len() => offset,
            _ => {
                *self = Self { start: at, bytes: read(at) };
                inside(self)?
            }
        };
        let mut decoder = Decoder::with_ip(64, &self.bytes[offset..], at, DecoderOptions::NONE);
        Some(decoder.decode()).filter(|instruction| !instruction.is_invalid())
    }
}

#[cfg(test)]
mod tests;
