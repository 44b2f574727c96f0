//! Connecting and authenticating.

use super::{PostgresConnection, message, message::MessageStream};
use crate::session::{Session, SqlError, credentials::Credentials, socket::Socket};
use fallible_iterator::FallibleIterator;
use model::drive::Target;
use postgres_protocol::{
    authentication::{
        md5_hash,
        sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256},
    },
    message::{
        backend::{AuthenticationSaslBody, Message},
        frontend,
    },
};

/// Messages that a login may take: enough for every parameter, a limit for a server that never
/// ends.
const STEPS_MAX: usize = 1000;

/// Connects to `target`, authenticates and executes its initial statements. On error the connection
/// is closed.
pub fn connect(target: &Target) -> Result<PostgresConnection, SqlError> {
    let socket = Socket::connect(target)?;
    let mut connection = enter(socket, &target.database, &Credentials::of(target))?;
    for sql in &target.initial_sql {
        connection.query(sql)?;
    }
    Ok(connection)
}

/// The login over a connected socket.
fn enter(
    socket: Socket,
    database: &str,
    credentials: &Credentials,
) -> Result<PostgresConnection, SqlError> {
    let mut stream = MessageStream::new(socket);
    let named = [("user", credentials.user.as_str()), ("database", database)];
    let given = named.into_iter().filter(|(_, value)| !value.is_empty());
    stream.send(|out| frontend::startup_message(given, out))?;
    authenticate(&mut stream, credentials)?;
    let mut connection = PostgresConnection { stream, backend_pid: 0, parameters: Vec::new() };
    settle(&mut connection)?;
    Ok(connection)
}

/// Answers the server until it says that the login is good.
fn authenticate(stream: &mut MessageStream, credentials: &Credentials) -> Result<(), SqlError> {
    let password = credentials.password.reveal().as_bytes();
    match stream.read()? {
        Message::AuthenticationOk => return Ok(()),
        Message::ErrorResponse(body) => {
            return Err(SqlError { lost: true, ..message::error(&body) });
        }
        Message::AuthenticationCleartextPassword => {
            stream.send(|out| frontend::password_message(password, out))?;
        }
        Message::AuthenticationMd5Password(body) => {
            let hash = md5_hash(credentials.user.as_bytes(), password, body.salt());
            stream.send(|out| frontend::password_message(hash.as_bytes(), out))?;
        }
        Message::AuthenticationSasl(body) => scram(stream, &body, password)?,
        _ => {
            return Err(SqlError::lost(
                "the server asks for a login that is not known here; \
                 allow `trust`, `scram-sha-256` or `md5` in its `pg_hba.conf`",
            ));
        }
    }
    match stream.read()? {
        Message::AuthenticationOk => Ok(()),
        Message::ErrorResponse(body) => Err(SqlError { lost: true, ..message::error(&body) }),
        _ => Err(unexpected()),
    }
}

/// SCRAM-SHA-256 without channel binding, up to the server's proof.
fn scram(
    stream: &mut MessageStream,
    offered: &AuthenticationSaslBody,
    password: &[u8],
) -> Result<(), SqlError> {
    let known = offered.mechanisms().any(|name| Ok(name == SCRAM_SHA_256)).unwrap_or(false);
    if !known {
        return Err(SqlError::lost("the server offers no `SCRAM-SHA-256`; use it or `trust`"));
    }
    let failed = |error: std::io::Error| SqlError::lost(format!("the login failed: {error}"));
    let mut proof = ScramSha256::new(password, ChannelBinding::unsupported());
    stream.send(|out| frontend::sasl_initial_response(SCRAM_SHA_256, proof.message(), out))?;
    match stream.read()? {
        Message::AuthenticationSaslContinue(body) => proof.update(body.data()).map_err(failed)?,
        Message::ErrorResponse(body) => {
            return Err(SqlError { lost: true, ..message::error(&body) });
        }
        _ => return Err(unexpected()),
    }
    stream.send(|out| frontend::sasl_response(proof.message(), out))?;
    match stream.read()? {
        Message::AuthenticationSaslFinal(body) => proof.finish(body.data()).map_err(failed),
        Message::ErrorResponse(body) => Err(SqlError { lost: true, ..message::error(&body) }),
        _ => Err(unexpected()),
    }
}

/// Reads parameters and the backend's key until the server is ready.
fn settle(connection: &mut PostgresConnection) -> Result<(), SqlError> {
    for _ in 0..STEPS_MAX {
        match connection.stream.read()? {
            Message::ParameterStatus(body) => {
                let pair = (body.name().unwrap_or_default(), body.value().unwrap_or_default());
                connection.parameters.push((pair.0.to_owned(), pair.1.to_owned()));
            }
            Message::BackendKeyData(body) => {
                connection.backend_pid = u32::try_from(body.process_id()).unwrap_or(0);
            }
            Message::ErrorResponse(body) => {
                return Err(SqlError { lost: true, ..message::error(&body) });
            }
            Message::ReadyForQuery(_) => return Ok(()),
            _ => {}
        }
    }
    Err(SqlError::lost(format!("the login took more than `{STEPS_MAX}` messages")))
}

fn unexpected() -> SqlError {
    SqlError::lost("the server's login messages are out of order")
}

#[cfg(test)]
mod tests;
