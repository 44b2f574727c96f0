//! Requests and answers over a blocking socket: one write and one read for a usual statement.

#![allow(unsafe_code, reason = "read and write without the thread-cancellation code of libc")]

use crate::client::Failure;
use crate::session::socket::Socket;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Bytes read at once; a longer answer takes several reads.
const INPUT_BYTES: usize = 64 * 1024;

/// A connected socket with the bytes that were read and not yet understood.
#[derive(Debug)]
pub struct Channel {
    /// Owns the descriptor and closes it when dropped.
    _socket: Socket,
    descriptor: RawFd,
    input: Box<[u8]>,
    begin: usize,
    end: usize,
}

impl Channel {
    /// A channel over a connected socket on which nothing is left unread.
    pub fn new(socket: Socket) -> Self {
        let descriptor = socket.as_raw_fd();
        let input = vec![0; INPUT_BYTES].into_boxed_slice();
        Self { _socket: socket, descriptor, input, begin: 0, end: 0 }
    }

    /// Sends all of `bytes`.
    ///
    /// # Errors
    /// The connection is lost.
    #[inline]
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let mut rest = bytes;
        loop {
            // SAFETY: the descriptor is open for as long as `_socket` is, and `rest` is valid for
            // reads of its length.
            let sent = unsafe {
                libc::syscall(libc::SYS_write, self.descriptor, rest.as_ptr(), rest.len())
            };
            if sent == rest.len() as libc::c_long {
                return Ok(());
            }
            rest = match usize::try_from(sent) {
                Ok(sent) => rest.get(sent..).unwrap_or_default(),
                Err(_) => interrupted(rest)?,
            };
        }
    }

    /// The bytes that were read and not consumed.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        self.input.get(self.begin..self.end).unwrap_or_default()
    }

    /// Forgets the first `count` unread bytes.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        self.begin += count;
        if self.begin >= self.end {
            (self.begin, self.end) = (0, 0);
        }
    }

    /// Forgets all unread bytes.
    #[inline]
    pub fn clear(&mut self) {
        (self.begin, self.end) = (0, 0);
    }

    /// Waits for more bytes and adds them to the unread ones.
    ///
    /// # Errors
    /// The connection is lost, or one unit of an answer that must be seen whole is too long.
    #[inline]
    pub fn receive(&mut self) -> Result<(), Failure> {
        if self.begin > 0 {
            self.input.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        let Some(free @ [_, ..]) = self.input.get_mut(self.end..) else {
            return Err(Failure::lost("the server sent a malformed answer: a part is too long"));
        };
        loop {
            // SAFETY: the descriptor is open for as long as `_socket` is, and `free` is valid for
            // writes of its length.
            let got = unsafe {
                libc::syscall(libc::SYS_read, self.descriptor, free.as_mut_ptr(), free.len())
            };
            match usize::try_from(got) {
                Ok(0) => return Err(Failure::lost("the server closed the connection")),
                Ok(got) => {
                    self.end += got.min(free.len());
                    return Ok(());
                }
                Err(_) => interrupted(())?,
            }
        }
    }
}

/// `again` if the last system call was interrupted by a signal.
#[cold]
fn interrupted<T>(again: T) -> Result<T, Failure> {
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(again),
        _ => Err(Failure::lost(format!("the connection to the server broke: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn bytes_travel_both_ways_and_a_closed_end_is_told() {
        let (mut far, near) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(Socket::Unix(near));
        channel.send(b"request").unwrap();
        let mut request = [0; 7];
        far.read_exact(&mut request).unwrap();
        assert_eq!(&request, b"request");
        far.write_all(b"answer").unwrap();
        channel.receive().unwrap();
        assert_eq!(channel.unread(), b"answer");
        channel.consume(2);
        assert_eq!(channel.unread(), b"swer");
        far.write_all(b"!").unwrap();
        channel.receive().unwrap();
        assert_eq!(channel.unread(), b"swer!");
        drop(far);
        let failure = channel.receive().unwrap_err();
        assert_eq!(failure.message(), "the server closed the connection");
        assert!(channel.send(b"more").unwrap_err().message().contains("broke"));
    }

    #[test]
    fn a_full_buffer_is_a_failure_and_no_panic() {
        let (mut far, near) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(Socket::Unix(near));
        far.write_all(&vec![0; INPUT_BYTES]).unwrap();
        while channel.unread().len() < INPUT_BYTES {
            channel.receive().unwrap();
        }
        assert!(channel.receive().unwrap_err().message().contains("too long"));
    }
}
