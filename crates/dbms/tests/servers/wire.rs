//! As little of two protocols as it takes to log in and to see whether a statement is understood.

use model::drive::{Endpoint, Target};
use std::{
    io::{self, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    time::Duration,
};

const TIMEOUT: Duration = Duration::from_secs(60);

/// What a server wants that is open to everybody on this host.
pub(crate) const PASSWORD: &str = "it asks for a password";

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// A connection to a server.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    is_mysql: bool,
}

impl Connection {
    /// Logs in as the target says.
    pub(crate) fn open(target: &Target) -> Result<Self, String> {
        let stream: Box<dyn Stream> = match &target.endpoint {
            Endpoint::Socket(path) => {
                let stream = UnixStream::connect(path).map_err(text)?;
                stream.set_read_timeout(Some(TIMEOUT)).map_err(text)?;
                Box::new(stream)
            }
            Endpoint::Port(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port)).map_err(text)?;
                stream.set_read_timeout(Some(TIMEOUT)).map_err(text)?;
                Box::new(stream)
            }
            other => return Err(format!("{other:?}")),
        };
        let mut connection = Self { stream, is_mysql: target.protocol == "mysql" };
        if connection.is_mysql {
            connection.log_in_to_mysql(target)?;
        } else {
            connection.log_in_to_postgres(target)?;
        }
        Ok(connection)
    }

    /// The last column of the first row, or empty.
    pub(crate) fn first_value(&mut self, sql: &str) -> Result<String, String> {
        let rows = self.query(sql)?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }

    /// Executes a statement; the last column of each row.
    pub(crate) fn query(&mut self, sql: &str) -> Result<Vec<String>, String> {
        let answer = if self.is_mysql { self.query_mysql(sql) } else { self.query_postgres(sql) };
        answer.map_err(|error| format!("{sql}: {error}"))
    }

    fn bytes(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).map_err(text)?;
        Ok(bytes)
    }

    fn log_in_to_mysql(&mut self, target: &Target) -> Result<(), String> {
        let (_, greeting) = self.packet()?;
        if greeting.first() == Some(&0xff) {
            return Err(String::from_utf8_lossy(&greeting).into_owned());
        }
        // Protocol 4.1, database, secure connection, authentication by plugin, transactions.
        let capabilities: u32 = 0x0200 | 0x0008 | 0x8000 | 0x0008_0000 | 0x2000;
        let mut login = capabilities.to_le_bytes().to_vec();
        login.extend(0x0100_0000_u32.to_le_bytes());
        login.push(8);
        login.extend([0; 23]);
        login.extend(target.user.as_bytes());
        login.extend([0, 0]);
        login.extend(target.database.as_bytes());
        login.push(0);
        login.extend(b"mysql_native_password\0");
        self.send(1, &login)?;
        loop {
            let (number, answer) = self.packet()?;
            match answer.first() {
                Some(0) => return Ok(()),
                Some(0xfe) => {
                    let wants_zero = answer[1..].starts_with(b"caching_sha2");
                    self.send(number + 1, if wants_zero { &[0] } else { &[] })?;
                }
                Some(1) => {}
                Some(0xff) if answer[1..3] == 1045_u16.to_le_bytes() => {
                    return Err(PASSWORD.to_owned());
                }
                _ => return Err(String::from_utf8_lossy(&answer).into_owned()),
            }
        }
    }

    fn packet(&mut self) -> Result<(u8, Vec<u8>), String> {
        let head = self.bytes(4)?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
        Ok((head[3], self.bytes(length as usize)?))
    }

    fn send(&mut self, number: u8, body: &[u8]) -> Result<(), String> {
        let length = u32::try_from(body.len()).unwrap().to_le_bytes();
        let packet = [&length[..3], &[number], body].concat();
        self.stream.write_all(&packet).map_err(text)
    }

    fn query_mysql(&mut self, sql: &str) -> Result<Vec<String>, String> {
        self.send(0, &[b"\x03", sql.as_bytes()].concat())?;
        let (_, head) = self.packet()?;
        match head[0] {
            0 => return Ok(Vec::new()),
            0xff => return Err(String::from_utf8_lossy(&head[3..]).into_owned()),
            _ => {}
        }
        let is_end = |packet: &[u8]| packet[0] == 0xfe && packet.len() < 9;
        while !is_end(&self.packet()?.1) {}
        let mut values = Vec::new();
        loop {
            let row = self.packet()?.1;
            if is_end(&row) {
                return Ok(values);
            }
            if row[0] == 0xff {
                return Err(String::from_utf8_lossy(&row[3..]).into_owned());
            }
            values.push(last_of_mysql(&row));
        }
    }

    fn log_in_to_postgres(&mut self, target: &Target) -> Result<(), String> {
        let mut body = 196_608_u32.to_be_bytes().to_vec();
        for word in ["user", &target.user, "database", &target.database, ""] {
            body.extend(word.as_bytes());
            body.push(0);
        }
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        self.stream.write_all(&[&length[..], &body].concat()).map_err(text)?;
        self.until_ready().map(drop)
    }

    fn query_postgres(&mut self, sql: &str) -> Result<Vec<String>, String> {
        let length = u32::try_from(sql.len() + 5).unwrap().to_be_bytes();
        let message = [b"Q", &length[..], sql.as_bytes(), b"\0"].concat();
        self.stream.write_all(&message).map_err(text)?;
        self.until_ready()
    }

    fn until_ready(&mut self) -> Result<Vec<String>, String> {
        let mut values = Vec::new();
        let mut error = None;
        loop {
            let head = self.bytes(5)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let body = self.bytes(length - 4)?;
            match head[0] {
                b'E' => {
                    let message = String::from_utf8_lossy(&body).replace('\0', " ");
                    // A server that starts says so and closes the connection.
                    if message.contains("FATAL") {
                        return Err(message);
                    }
                    error = Some(message);
                }
                b'R' if body != [0, 0, 0, 0] => return Err(PASSWORD.to_owned()),
                b'D' => {
                    values.push(last_of_postgres(&body));
                }
                b'Z' => return error.map_or(Ok(values), Err),
                _ => {}
            }
        }
    }
}

/// Last value of a row of the text protocol; only short and medium lengths occur.
fn last_of_mysql(row: &[u8]) -> String {
    let (mut at, mut last) = (0, &row[..0]);
    while at < row.len() {
        let (head, length) = match row[at] {
            0xfb => (1, 0),
            0xfc => (3, usize::from(u16::from_le_bytes([row[at + 1], row[at + 2]]))),
            length => (1, usize::from(length)),
        };
        last = &row[at + head..at + head + length];
        at += head + length;
    }
    String::from_utf8_lossy(last).into_owned()
}

fn last_of_postgres(body: &[u8]) -> String {
    let (mut at, mut last) = (2, &body[..0]);
    while at < body.len() {
        let size = i32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        let length = usize::try_from(size).unwrap_or(0);
        last = &body[at + 4..at + 4 + length];
        at += 4 + length;
    }
    String::from_utf8_lossy(last).into_owned()
}

fn text(error: io::Error) -> String {
    error.to_string()
}
