//! Requests and answers over a blocking socket: one write and one read for a usual statement.

#![allow(unsafe_code, reason = "read and write without the thread-cancellation code of libc")]

use super::{Failure, tunnel::Tunnel};
use model::drive::{Encryption, Endpoint, Target, Tls};
use rustix::net::sockopt;
use std::{
    io,
    net::{Ipv4Addr, TcpStream, ToSocketAddrs},
    os::fd::{AsRawFd, OwnedFd, RawFd},
    os::unix::net::UnixStream,
    time::Duration,
};

/// Bytes read at once; a longer answer takes several reads.
const INPUT_BYTES: usize = 64 * 1024;
/// Longest unit of an answer that is taken after the login: a row that somebody looks at, or the
/// whole answer to a script.
const INPUT_BYTES_MAX: usize = 1 << 30;

/// How long an address of the network may take to answer.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long a login waits for each answer: whoever listens there may be no server at all.
const LOGIN_LIMIT: Duration = Duration::from_secs(60);
/// Another host is asked for a sign of life after this time without one, as often again until it
/// counts as gone. A statement may take longer: it is the kernel of that host which answers.
const SILENCE: Duration = Duration::from_secs(10);
const PROBES: u32 = 5;

/// A connected socket with the bytes that were read and not yet understood.
#[derive(Debug)]
pub(crate) struct Channel {
    /// Of either family: it is read and written and nothing else.
    socket: TcpStream,
    /// Its number, which asking for costs instructions.
    descriptor: RawFd,
    is_local: bool,
    /// What encrypts; none where nothing does.
    tunnel: Option<Box<Tunnel>>,
    input: Vec<u8>,
    begin: usize,
    end: usize,
    /// Where `input` is full; 0 of an encrypted channel, which so costs the others no instruction.
    full: usize,
    /// Bytes that the input may have.
    limit: usize,
}

impl Channel {
    /// Connects to the endpoint of `target`; fails for endpoints that are no server. Answers are
    /// waited for no longer than a login may take, until [`Self::end_login`].
    pub(crate) fn connect(target: &Target) -> Result<Self, Failure> {
        let (channel, address) = match &target.endpoint {
            Endpoint::Socket(path) => {
                (UnixStream::connect(path).map(Self::local), path.display().to_string())
            }
            Endpoint::Port(port) => {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, *port));
                (stream.and_then(Self::remote), format!("127.0.0.1:{port}"))
            }
            Endpoint::Address { host, port } => {
                let stream = reach(host, *port)?.and_then(watched);
                (stream.and_then(Self::remote), format!("{host}:{port}"))
            }
            Endpoint::File(_) | Endpoint::Nowhere => {
                return Err(Failure::own(format!(
                    "protocol `{}` needs a socket or a port, not `{:?}`",
                    target.protocol, target.endpoint
                )));
            }
        };
        let limited = channel.and_then(|channel| {
            channel.socket.set_read_timeout(Some(LOGIN_LIMIT))?;
            Ok(channel)
        });
        limited.map_err(|error| {
            let remedy = remedy(&error);
            Failure::lost(format!("cannot connect to `{address}`: {error}; {remedy}"))
        })
    }

    /// The login is over: a statement may take any time, and a part of its answer be long.
    pub(crate) fn end_login(&mut self) -> Result<(), Failure> {
        self.limit = INPUT_BYTES_MAX;
        let unlimited = self.socket.set_read_timeout(None);
        unlimited.map_err(|error| Failure::lost(format!("the connection broke: {error}")))
    }

    /// From now on the server may take its time to read what is sent, as in the middle of a load.
    /// The limit of [`watched`] counts also the time in which it has no room for more.
    pub(crate) fn wait_for_room(&self) -> Result<(), Failure> {
        if self.is_local {
            return Ok(());
        }
        let unlimited = sockopt::set_tcp_user_timeout(&self.socket, 0);
        unlimited.map_err(|error| Failure::lost(format!("the connection broke: {error}")))
    }

    /// A channel over a UNIX socket on which nothing is left unread.
    pub(crate) fn local(stream: UnixStream) -> Self {
        Self { is_local: true, ..Self::new(OwnedFd::from(stream).into()) }
    }

    /// A channel over TCP, without Nagle's delay.
    fn remote(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self::new(stream))
    }

    fn new(socket: TcpStream) -> Self {
        Self {
            descriptor: socket.as_raw_fd(),
            socket,
            is_local: false,
            tunnel: None,
            input: vec![0; INPUT_BYTES],
            begin: 0,
            end: 0,
            full: INPUT_BYTES,
            limit: INPUT_BYTES,
        }
    }

    /// The same connection once more, for who uses it in turn with this one: nothing may be unread.
    ///
    /// # Errors
    /// It is encrypted, or the process has no more files.
    pub(crate) fn twin(&self) -> Result<Self, Failure> {
        if self.tunnel.is_some() {
            return Err(Failure::own("connections of scripts are not encrypted: leave TLS out"));
        }
        let socket = self.socket.try_clone();
        let socket = socket.map_err(|error| {
            let remedy = remedy(&error);
            Failure::lost(format!("a script cannot use the connection: {error}; {remedy}"))
        })?;
        Ok(Self { is_local: self.is_local, limit: self.limit, ..Self::new(socket) })
    }

    /// Encrypts everything from now on.
    ///
    /// # Errors
    /// The server has none of the versions of TLS that it is offered, or another certificate; or it
    /// has sent more than it was asked for, which somebody else may have put there.
    pub(crate) fn encrypt(&mut self, tls: &Tls) -> Result<(), Failure> {
        if !self.unread().is_empty() {
            return Err(Failure::lost("the server sent more than its consent to TLS"));
        }
        self.tunnel = Some(Box::new(Tunnel::open(&self.socket, tls)?));
        self.full = 0;
        Ok(())
    }

    /// How it is encrypted; none where it is not.
    pub(crate) fn encryption(&self) -> Option<Encryption> {
        self.tunnel.as_ref().map(|tunnel| tunnel.encryption())
    }

    /// Whether nobody else on the network can listen: the server then trusts a clear password.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }

    /// Sends all of `bytes`.
    ///
    /// # Errors
    /// The connection is lost.
    #[inline]
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if let Some(tunnel) = &mut self.tunnel {
            return tunnel.send(&self.socket, bytes);
        }
        let mut rest = bytes;
        loop {
            // SAFETY: the descriptor is open as long as `socket` lives, and `rest` is valid for
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
    pub(crate) fn unread(&self) -> &[u8] {
        self.input.get(self.begin..self.end).unwrap_or_default()
    }

    /// Forgets the first `count` unread bytes.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        self.begin += count;
        if self.begin >= self.end {
            (self.begin, self.end) = (0, 0);
        }
    }

    /// Forgets all unread bytes.
    #[inline]
    pub(crate) fn clear(&mut self) {
        (self.begin, self.end) = (0, 0);
    }

    /// Waits for more bytes and adds them to the unread ones.
    ///
    /// # Errors
    /// The connection is lost, or one unit of an answer that must be seen whole is too long.
    #[inline]
    pub(crate) fn receive(&mut self) -> Result<(), Failure> {
        if self.begin > 0 {
            self.input.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        if self.end >= self.full {
            if self.tunnel.is_some() {
                return self.receive_encrypted();
            }
            self.grow()?;
        }
        let free = &mut self.input[self.end..];
        loop {
            // SAFETY: the descriptor is open as long as `socket` lives, and `free` is valid for
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

    #[inline(never)]
    fn receive_encrypted(&mut self) -> Result<(), Failure> {
        if self.end >= self.input.len() {
            self.grow()?;
            self.full = 0;
        }
        if let Some(tunnel) = &mut self.tunnel {
            self.end += tunnel.receive(&self.socket, &mut self.input[self.end..])?;
        }
        Ok(())
    }

    #[cold]
    fn grow(&mut self) -> Result<(), Failure> {
        if self.input.len() >= self.limit {
            return Err(Failure::lost(match self.limit {
                INPUT_BYTES_MAX => "an answer is too long, 1 GiB or more: select less of it",
                _ => "the server sent a malformed answer: a part is too long",
            }));
        }
        self.input.resize(2 * self.input.len(), 0);
        self.full = self.input.len();
        Ok(())
    }
}

/// What to look at where a connection cannot be opened.
fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "raise the hard limit of `ulimit -n`",
        Some(libc::EACCES) => "may this user use the socket?",
        _ => "is the server up?",
    }
}

/// The first address of a name that takes the connection. Fails at once where the name is not
/// known.
fn reach(host: &str, port: u16) -> Result<io::Result<TcpStream>, Failure> {
    let unknown = |reason: &str| {
        Failure::lost(format!("the name `{host}` does not resolve ({reason}): check its spelling"))
    };
    let addresses = (host, port).to_socket_addrs().map_err(|error| unknown(&error.to_string()))?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
            Ok(stream) => return Ok(Ok(stream)),
            Err(error) => last = Some(error),
        }
    }
    last.map(Err).ok_or_else(|| unknown("it has no address"))
}

/// A connection that breaks where the other host, or the way to it, is gone.
fn watched(stream: TcpStream) -> io::Result<TcpStream> {
    sockopt::set_socket_keepalive(&stream, true)?;
    sockopt::set_tcp_keepidle(&stream, SILENCE)?;
    sockopt::set_tcp_keepintvl(&stream, SILENCE)?;
    sockopt::set_tcp_keepcnt(&stream, PROBES)?;
    // What was sent and not acknowledged is not asked for signs of life.
    sockopt::set_tcp_user_timeout(&stream, (SILENCE * PROBES).as_millis() as u32)?;
    Ok(stream)
}

/// `again` if the last system call was interrupted by a signal.
#[cold]
fn interrupted<T>(again: T) -> Result<T, Failure> {
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(again),
        io::ErrorKind::WouldBlock => Err(silent()),
        _ => Err(Failure::lost(format!("the connection to the server broke: {error}"))),
    }
}

/// That a read ended without an answer: only those of a login are limited.
#[cold]
pub(super) fn silent() -> Failure {
    Failure::lost(format!(
        "no answer to the login in {} s: check the address, and which product listens there",
        LOGIN_LIMIT.as_secs()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn bytes_travel_both_ways_and_a_closed_end_is_told() {
        let (mut far, near) = UnixStream::pair().unwrap();
        let mut channel = Channel::local(near);
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
    fn a_connection_to_another_host_is_watched() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let host = Ipv4Addr::LOCALHOST.to_string();
        let endpoint = Endpoint::Address { host, port: listener.local_addr().unwrap().port() };
        let target = Target { endpoint, ..Target::null() };
        let mut channel = Channel::connect(&target).unwrap();
        assert!(sockopt::socket_keepalive(&channel.socket).unwrap());
        assert_eq!(sockopt::tcp_user_timeout(&channel.socket).unwrap(), 50_000);
        // Whoever listens says nothing.
        assert_eq!(channel.socket.read_timeout().unwrap(), Some(LOGIN_LIMIT));
        channel.socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let silent = channel.receive().unwrap_err();
        assert!(silent.message().starts_with("no answer to the login in 60 s"), "{silent:?}");
        channel.end_login().unwrap();
        assert_eq!(channel.socket.read_timeout().unwrap(), None);
        channel.wait_for_room().unwrap();
        assert_eq!(sockopt::tcp_user_timeout(&channel.socket).unwrap(), 0);
    }

    #[test]
    fn the_remedy_is_that_of_the_error() {
        let check = |code, expected: &str| {
            assert_eq!(remedy(&io::Error::from_raw_os_error(code)), expected, "{code}");
        };
        check(libc::EMFILE, "raise the hard limit of `ulimit -n`");
        check(libc::EACCES, "may this user use the socket?");
        check(libc::ECONNREFUSED, "is the server up?");
    }

    #[test]
    fn a_full_buffer_is_a_failure_and_no_panic() {
        let (mut far, near) = UnixStream::pair().unwrap();
        let mut channel = Channel::local(near);
        far.write_all(&vec![0; INPUT_BYTES]).unwrap();
        while channel.unread().len() < INPUT_BYTES {
            channel.receive().unwrap();
        }
        assert!(channel.receive().unwrap_err().message().contains("too long"));
        channel.end_login().unwrap();
        far.write_all(b"!").unwrap();
        channel.receive().unwrap();
        assert_eq!(channel.unread()[INPUT_BYTES..], *b"!");
    }
}
