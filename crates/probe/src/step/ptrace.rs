//! The requests to the kernel. All of them must come from one thread, the tracer.
//!
//! The safe wrappers of other crates know the named signals only. Servers use real-time signals for
//! timers, and those must reach them while they are stepped.

#![allow(unsafe_code, reason = "no safe wrapper of ptrace passes on real-time signals")]

use libc::{c_int, c_long};
use std::io;
#[cfg(target_arch = "x86_64")]
use std::mem::offset_of;

/// Whether tasks can be stepped on this architecture.
///
/// On ARM they cannot: a step ends an exclusive access, so a loop of load-exclusive and
/// store-exclusive would never end.
pub(super) const SUPPORTED: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// Event of a stop that is neither a step nor a signal.
#[cfg(test)]
pub(super) const EVENT_STOP: i32 = 128;

/// Options of waiting: any kind of task, and those of this thread only.
pub(super) const WAIT_OPTIONS: u32 = (libc::__WALL | libc::__WNOTHREAD) as u32;

/// Becomes the tracer of a task, which goes on.
pub(super) fn seize(task: u32) -> io::Result<()> {
    request(c_long::from(libc::PTRACE_SEIZE), task, 0, 0)
}

/// Makes a task stop, in a system call too.
pub(super) fn interrupt(task: u32) -> io::Result<()> {
    request(c_long::from(libc::PTRACE_INTERRUPT), task, 0, 0)
}

/// Lets a stopped task execute one instruction, with a signal or with 0.
pub(super) fn step(task: u32, signal: i32) -> io::Result<()> {
    request(c_long::from(libc::PTRACE_SINGLESTEP), task, 0, signal as usize)
}

/// Lets a stopped task go on until its next stop, without stepping.
pub(super) fn go_on(task: u32) -> io::Result<()> {
    request(c_long::from(libc::PTRACE_CONT), task, 0, 0)
}

/// Leaves a task stopped until another process continues it.
pub(super) fn listen(task: u32) -> io::Result<()> {
    request(c_long::from(libc::PTRACE_LISTEN), task, 0, 0)
}

/// Lets a stopped task go on alone, with a signal or with 0.
pub(super) fn detach(task: u32, signal: i32) -> io::Result<()> {
    request(c_long::from(libc::PTRACE_DETACH), task, 0, signal as usize)
}

/// Address of the next instruction of a stopped task. One register costs less than all.
#[cfg(target_arch = "x86_64")]
pub(super) fn next_instruction(task: u32) -> io::Result<u64> {
    peek(task, offset_of!(libc::user, regs) + offset_of!(libc::user_regs_struct, rip))
}

/// The register that holds the number of a system call before it.
#[cfg(target_arch = "x86_64")]
pub(super) fn number_register(task: u32) -> io::Result<u64> {
    peek(task, offset_of!(libc::user, regs) + offset_of!(libc::user_regs_struct, rax))
}

/// Sets the address of one of the processor's breakpoints, for this task alone: no code is changed.
#[cfg(target_arch = "x86_64")]
pub(super) fn set_breakpoint(task: u32, number: usize, address: u64) -> io::Result<()> {
    let address = usize::try_from(address).map_err(io::Error::other)?;
    poke(task, number, address)
}

/// Number of the register that enables breakpoints.
#[cfg(target_arch = "x86_64")]
const CONTROL: usize = 7;

/// Makes a task stop before it executes the instructions at the first two addresses.
#[cfg(target_arch = "x86_64")]
pub(super) fn enable_breakpoints(task: u32) -> io::Result<()> {
    /// The bits of both, for execution.
    const BOTH: usize = 0b101;
    poke(task, CONTROL, BOTH)
}

/// Lets a task pass all breakpoints.
#[cfg(target_arch = "x86_64")]
pub(super) fn disable_breakpoints(task: u32) -> io::Result<()> {
    poke(task, CONTROL, 0)
}

#[cfg(target_arch = "x86_64")]
fn poke(task: u32, register: usize, value: usize) -> io::Result<()> {
    let offset = offset_of!(libc::user, u_debugreg) + register * size_of::<u64>();
    request(c_long::from(libc::PTRACE_POKEUSER), task, offset, value)
}

#[cfg(target_arch = "x86_64")]
fn peek(task: u32, offset: usize) -> io::Result<u64> {
    let mut word = 0_u64;
    // The bare system call stores the word where its last argument points.
    let place = (&raw mut word).expose_provenance();
    request(c_long::from(libc::PTRACE_PEEKUSER), task, offset, place)?;
    Ok(word)
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn next_instruction(_task: u32) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn number_register(_task: u32) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn set_breakpoint(_task: u32, _number: usize, _address: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn enable_breakpoints(_task: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn disable_breakpoints(_task: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn request(request: c_long, task: u32, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: the kernel checks the task and the request, and changes no memory of this process but
    // one word at `data` when it peeks, where the only caller passes a living `u64`.
    let result =
        unsafe { libc::syscall(libc::SYS_ptrace, request, c_long::from(task), address, data) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The signal that ends the tracer's waiting: one of those that nobody has a meaning for.
fn nudge_signal() -> c_int {
    libc::SIGRTMAX() - 1
}

/// Gives the nudge an empty handler: it must interrupt, and do nothing else.
pub(super) fn handle_nudges() -> io::Result<()> {
    extern "C" fn nothing(_signal: c_int) {}
    // SAFETY: all zeros is a valid `sigaction`: no flags, so that waiting is not resumed, and no
    // signal masked. The handler does nothing, which is safe at any time.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(c_int) as usize;
        libc::sigaction(nudge_signal(), &raw const action, std::ptr::null_mut())
    };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Interrupts the waiting of a thread of this process.
pub(super) fn nudge(task: u32) {
    let (process, task) = (std::process::id() as c_int, task as c_int);
    // SAFETY: no memory is involved; a thread that has ended is an error that does not matter.
    unsafe {
        libc::syscall(libc::SYS_tgkill, process, task, nudge_signal());
    }
}

/// The kernel task of the calling thread.
pub(super) fn own_task() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}
