//! Packets: a 3-byte length, a sequence number, the payload.

use super::reply;
use crate::wire::{Failure, channel::Channel};
use model::drive::Target;

/// Bytes in front of the payload.
pub(super) const HEAD: usize = 4;
/// A payload of this length is continued by the next packet.
pub(super) const CONTINUED: usize = 0xff_ffff;

/// Reads and writes whole packets, where speed does not count.
pub(super) struct Packets {
    pub(super) channel: Channel,
    /// Number of the next packet; both sides count within one command.
    sequence: u8,
}

impl Packets {
    pub(super) fn connect(target: &Target) -> Result<Self, Failure> {
        Channel::connect(target).map(Self::new)
    }

    pub(super) fn new(channel: Channel) -> Self {
        Self { channel, sequence: 0 }
    }

    /// Begins a command: its first packet has number 0.
    pub(super) fn command(&mut self, code: u8, body: &[u8]) -> Result<(), Failure> {
        self.command_in_place(&mut [&[0; HEAD], &[code][..], body].concat())
    }

    /// The same of a command that has [`HEAD`] free bytes before it.
    pub(super) fn command_in_place(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        self.sequence = 0;
        self.write_in_place(buffer)
    }

    /// Sends one payload.
    pub(super) fn write(&mut self, payload: &[u8]) -> Result<(), Failure> {
        self.write_in_place(&mut [&[0; HEAD], payload].concat())
    }

    /// Sends a payload that has [`HEAD`] free bytes before it: one system call for both, so that
    /// the server wakes once. One that is too long for a packet is continued by others.
    pub(super) fn write_in_place(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        let mut rest = buffer;
        loop {
            let length = (rest.len() - HEAD).min(CONTINUED);
            self.sequence = self.sequence.wrapping_add(1);
            let [a, b, c, ..] = length.to_le_bytes();
            rest[..HEAD].copy_from_slice(&[a, b, c, self.sequence.wrapping_sub(1)]);
            self.channel.send(&rest[..HEAD + length])?;
            if length < CONTINUED {
                return Ok(());
            }
            // The next head takes the place of bytes that are sent.
            rest = &mut rest[length..];
        }
    }

    /// The next packet that is neither an error nor a report of progress. Its payload is in one
    /// packet: longer ones belong to rows only.
    pub(super) fn read(&mut self) -> Result<Vec<u8>, Failure> {
        loop {
            let payload = self.read_any()?;
            match payload.first() {
                None => return Err(reply::nonsense("an empty packet")),
                Some(0xff) => reply::server_error(&payload)?,
                Some(_) => return Ok(payload),
            }
        }
    }

    fn read_any(&mut self) -> Result<Vec<u8>, Failure> {
        loop {
            if let [a, b, c, sequence, body @ ..] = self.channel.unread() {
                let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
                if let Some(body) = body.get(..length) {
                    let (body, sequence) = (body.to_vec(), *sequence);
                    self.expect_after(sequence);
                    self.channel.consume(HEAD + length);
                    return Ok(body);
                }
            }
            self.channel.receive()?;
        }
    }

    /// The packet with this number was the server's last: the next one is ours.
    pub(super) fn expect_after(&mut self, sequence: u8) {
        self.sequence = sequence.wrapping_add(1);
    }
}
