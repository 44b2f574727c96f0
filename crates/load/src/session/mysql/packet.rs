//! Packets of the MySQL protocol over a socket: a 3-byte length, a sequence number, the payload.

use crate::session::{SqlError, socket::Socket};
use std::io::{Read, Write};

/// A payload of this length is continued by the next packet.
const PART_BYTES_MAX: usize = 0xff_ffff;

/// Refuses replies that no control session asks for, before memory is reserved for them.
const REPLY_BYTES_MAX: usize = 1 << 30;

/// Reads and writes whole packets.
pub(super) struct PacketStream {
    socket: Socket,
    /// Number of the next packet; both sides count within one command.
    sequence: u8,
    /// Bytes that were read but not yet taken: `input[taken..]`.
    input: Vec<u8>,
    taken: usize,
}

impl PacketStream {
    pub(super) fn new(socket: Socket) -> Self {
        Self { socket, sequence: 0, input: Vec::new(), taken: 0 }
    }

    /// The socket, provided that no reply is left unread.
    pub(super) fn into_socket(self) -> Result<Socket, SqlError> {
        match self.input.len() - self.taken {
            0 => Ok(self.socket),
            left => Err(SqlError::lost(format!("the server sent `{left}` bytes too many"))),
        }
    }

    /// Begins a command: its first packet has number 0.
    pub(super) fn command(&mut self, payload: &[u8]) -> Result<(), SqlError> {
        self.sequence = 0;
        self.write(payload)
    }

    /// Sends one payload, split where it is too long for one packet.
    pub(super) fn write(&mut self, payload: &[u8]) -> Result<(), SqlError> {
        let mut rest = payload;
        loop {
            let (part, after) = rest.split_at(rest.len().min(PART_BYTES_MAX));
            let length = u32::try_from(part.len()).unwrap_or_default().to_le_bytes();
            let header = [length[0], length[1], length[2], self.sequence];
            self.sequence = self.sequence.wrapping_add(1);
            // One write for small packets, so that the server wakes once.
            let sent = if part.len() < 65_536 {
                self.socket.write_all(&[&header, part].concat())
            } else {
                self.socket.write_all(&header).and_then(|()| self.socket.write_all(part))
            };
            sent.map_err(|error| SqlError::lost(format!("cannot send to the server: {error}")))?;
            rest = after;
            if part.len() < PART_BYTES_MAX {
                return Ok(());
            }
        }
    }

    /// Sends a payload that has 4 free bytes before it, for the header: one system call for both.
    pub(super) fn write_in_place(&mut self, buffer: &mut [u8]) -> Result<(), SqlError> {
        let length = buffer.len() - 4;
        if length >= PART_BYTES_MAX {
            return self.write(&buffer[4..]);
        }
        let size = u32::try_from(length).unwrap_or_default().to_le_bytes();
        buffer[..4].copy_from_slice(&[size[0], size[1], size[2], self.sequence]);
        self.sequence = self.sequence.wrapping_add(1);
        let sent = self.socket.write_all(buffer);
        sent.map_err(|error| SqlError::lost(format!("cannot send to the server: {error}")))
    }

    /// The next payload.
    pub(super) fn read(&mut self) -> Result<Vec<u8>, SqlError> {
        let mut payload = Vec::new();
        loop {
            self.fill(4)?;
            let header = &self.input[self.taken..];
            let length =
                usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            self.sequence = header[3].wrapping_add(1);
            if payload.len() + length > REPLY_BYTES_MAX {
                return Err(SqlError::lost("the server sent a reply of more than 1 GiB"));
            }
            self.fill(4 + length)?;
            let start = self.taken + 4;
            payload.extend_from_slice(&self.input[start..start + length]);
            self.taken = start + length;
            if length < PART_BYTES_MAX {
                return Ok(payload);
            }
        }
    }

    /// Waits until at least `wanted` bytes can be taken.
    fn fill(&mut self, wanted: usize) -> Result<(), SqlError> {
        while self.input.len() - self.taken < wanted {
            self.input.drain(..self.taken);
            self.taken = 0;
            let start = self.input.len();
            self.input.resize(start + (wanted - start).max(16_384), 0);
            let read = self.socket.read(&mut self.input[start..]);
            self.input.truncate(start + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Err(SqlError::lost("the server closed the connection")),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(SqlError::lost(format!("cannot read from the server: {error}")));
                }
            }
        }
        Ok(())
    }
}
