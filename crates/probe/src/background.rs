//! A thread that works beside the measured one until it is told to end.

use std::{
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::Duration,
};

/// Works until it is ended or dropped.
pub(crate) struct Background<T> {
    // Dropping the sender tells the thread to end.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<T>>,
}

/// What tells the work to end.
pub(crate) struct Stopped(Receiver<()>);

impl Stopped {
    /// Waits for so long, and gives whether the work has to end.
    pub(crate) fn within(&self, wait: Duration) -> bool {
        !matches!(self.0.recv_timeout(wait), Err(RecvTimeoutError::Timeout))
    }
}

impl<T: Send + 'static> Background<T> {
    /// Starts a thread of this name.
    ///
    /// # Errors
    /// If the system has none left.
    pub(crate) fn start(
        name: &str,
        work: impl FnOnce(&Stopped) -> T + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let work = move || work(&Stopped(stopped));
        let thread = thread::Builder::new().name(name.into()).spawn(work)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl<T> Background<T> {
    /// Ends the work and gives its result, once; none after a panic, which has been told already.
    pub(crate) fn end(&mut self) -> Option<T> {
        drop(self.stop.take());
        self.thread.take()?.join().ok()
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.end();
    }
}
