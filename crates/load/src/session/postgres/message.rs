//! Messages of the PostgreSQL protocol over a socket, and what their bodies say.

use crate::session::{SqlError, socket::Socket};
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{
    DataRowBody, ErrorResponseBody, Message, RowDescriptionBody,
};
use std::io::{ErrorKind, Read, Write};

/// Refuses replies that no control session asks for, before memory is reserved for them.
const REPLY_BYTES_MAX: usize = 1 << 30;

/// Reads and writes whole messages.
pub(super) struct MessageStream {
    socket: Socket,
    input: BytesMut,
    output: BytesMut,
}

impl MessageStream {
    pub(super) fn new(socket: Socket) -> Self {
        Self { socket, input: BytesMut::new(), output: BytesMut::new() }
    }

    /// The socket, provided that no reply is left unread.
    pub(super) fn into_socket(self) -> Result<Socket, SqlError> {
        match self.input.len() {
            0 => Ok(self.socket),
            left => Err(SqlError::lost(format!("the server sent `{left}` bytes too many"))),
        }
    }

    /// Sends the messages that `build` appends.
    pub(super) fn send(
        &mut self,
        build: impl FnOnce(&mut BytesMut) -> std::io::Result<()>,
    ) -> Result<(), SqlError> {
        self.output.clear();
        build(&mut self.output).map_err(|error| SqlError::own(format!("not sendable: {error}")))?;
        let sent = self.socket.write_all(&self.output);
        sent.map_err(|error| SqlError::lost(format!("cannot send to the server: {error}")))
    }

    /// Sends bytes that are whole messages already.
    pub(super) fn send_raw(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        let sent = self.socket.write_all(bytes);
        sent.map_err(|error| SqlError::lost(format!("cannot send to the server: {error}")))
    }

    /// The next message that is not a notice or a changed parameter.
    pub(super) fn read(&mut self) -> Result<Message, SqlError> {
        loop {
            let message = Message::parse(&mut self.input).map_err(|error| {
                SqlError::lost(format!("the server sent no PostgreSQL message: {error}"))
            })?;
            match message {
                Some(Message::NoticeResponse(_) | Message::NotificationResponse(_)) => {}
                Some(message) => return Ok(message),
                None => self.fill()?,
            }
        }
    }

    fn fill(&mut self) -> Result<(), SqlError> {
        if self.input.len() > REPLY_BYTES_MAX {
            return Err(SqlError::lost("the server sent a message of more than 1 GiB"));
        }
        let start = self.input.len();
        self.input.resize(start + 16_384, 0);
        let read = self.socket.read(&mut self.input[start..]);
        self.input.truncate(start + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(SqlError::lost("the server closed the connection")),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(SqlError::lost(format!("cannot read from the server: {error}"))),
        }
    }
}

/// The error that an ErrorResponse says.
pub(super) fn error(body: &ErrorResponseBody) -> SqlError {
    let (mut code, mut message, mut severity) = (String::new(), String::new(), String::new());
    for field in body.fields().iterator() {
        match field {
            Ok(field) => {
                let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
                match field.type_() {
                    b'C' => code = value,
                    b'M' => message = value,
                    b'V' => severity = value,
                    b'S' if severity.is_empty() => severity = value,
                    _ => {}
                }
            }
            Err(_) => break,
        }
    }
    SqlError { code, message, lost: severity == "FATAL" || severity == "PANIC" }
}

/// Names of the columns of a result set.
pub(super) fn column_names(body: &RowDescriptionBody) -> Result<Vec<String>, SqlError> {
    let fields: Result<Vec<_>, _> =
        body.fields().iterator().map(|field| field.map(|f| f.name().to_owned())).collect();
    fields.map_err(malformed)
}

/// The values of a row in text format.
pub(super) fn values(body: &DataRowBody) -> Result<Vec<Option<String>>, SqlError> {
    let text = |range: Option<std::ops::Range<usize>>| {
        let bytes = range.and_then(|range| body.buffer().get(range));
        bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    body.ranges()
        .iterator()
        .map(|range| range.map(text))
        .collect::<Result<_, _>>()
        .map_err(malformed)
}

/// Rows changed according to the tag of a CommandComplete: the last word of `INSERT 0 5`, `UPDATE
/// 5`.
pub(super) fn changed(tag: &str) -> u64 {
    let (verb, rest) = tag.split_once(' ').unwrap_or((tag, ""));
    if !matches!(verb, "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "COPY") {
        return 0;
    }
    rest.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn malformed(error: std::io::Error) -> SqlError {
    SqlError::lost(format!("the server sent a malformed message: {error}"))
}
