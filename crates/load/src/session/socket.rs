//! A connected stream socket, UNIX or TCP, with its file descriptor for callers that bypass `std`.

use super::SqlError;
use model::drive::{Endpoint, Target};
use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, TcpStream},
    os::{
        fd::{AsRawFd, RawFd},
        unix::net::UnixStream,
    },
};

/// A blocking connection to a server on this machine.
#[derive(Debug)]
pub enum Socket {
    /// Over a UNIX socket.
    Unix(UnixStream),
    /// Over TCP on 127.0.0.1, without Nagle's delay.
    Tcp(TcpStream),
}

impl Socket {
    /// Connects to the endpoint of `target`; fails for endpoints that are no server.
    pub fn connect(target: &Target) -> Result<Self, SqlError> {
        let (socket, place) = match &target.endpoint {
            Endpoint::Socket(path) => {
                (UnixStream::connect(path).map(Self::Unix), path.display().to_string())
            }
            Endpoint::Port(port) => {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, *port));
                let stream = stream.and_then(|s| s.set_nodelay(true).map(|()| s));
                (stream.map(Self::Tcp), format!("127.0.0.1:{port}"))
            }
            Endpoint::File(_) | Endpoint::Nowhere => {
                return Err(SqlError::own(format!(
                    "protocol `{}` needs a socket or a port, not `{:?}`",
                    target.protocol, target.endpoint
                )));
            }
        };
        socket.map_err(|error| {
            SqlError::lost(format!("cannot connect to `{place}`: {error}; is the server up?"))
        })
    }

    /// Whether nobody else on the network can listen: the server then trusts a clear password.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Unix(_))
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Unix(stream) => stream.as_raw_fd(),
            Self::Tcp(stream) => stream.as_raw_fd(),
        }
    }
}
