//! Connecting and authenticating.

use super::{Connection, message, reply};
use crate::wire::{Failure, channel::Channel};
use model::drive::Target;
use postgres_protocol::authentication::{
    md5_hash,
    sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256},
};

/// Messages that a login may take: enough for every parameter, a limit for a server that never
/// ends.
const STEPS_MAX: usize = 1000;
/// Rounds of hashing that SCRAM may ask for: seconds of work. Servers ask for 4,096 by default.
const ROUNDS_MAX: u64 = 10_000_000;
/// Asks for TLS: its length, and a number in the place of a version.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
/// Why an empty password is not tried: no server takes it, and refuses it as a wrong one.
const NO_PASSWORD: &str = "the server asks for a password and there is none: name it by \
     `password_env` or `password_file` in `attach`, or by `PGPASSWORD` for `dbdyno sysbench` \
     (`~/.pgpass` is not read)";
/// Version 3.0 of the protocol.
const VERSION: u32 = 3 << 16;

/// The login over a connected socket.
pub(super) fn enter(channel: Channel, target: &Target) -> Result<Connection, Failure> {
    let mut connection = Connection { channel, backend: 0, server_version: String::new() };
    if let Some(tls) = &target.tls {
        connection.ask_for_tls()?;
        connection.channel.encrypt(tls)?;
    }
    let mut startup = VERSION.to_be_bytes().to_vec();
    for (name, value) in [("user", &target.user), ("database", &target.database)] {
        if !value.is_empty() {
            startup.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
        }
    }
    startup.push(0);
    let length = (startup.len() as u32 + 4).to_be_bytes();
    connection.channel.send(&[&length[..], &startup].concat())?;
    connection.authenticate(target)?;
    connection.settle()?;
    Ok(connection)
}

/// What the server asks of a login.
enum Request {
    Nothing,
    Password,
    Md5([u8; 4]),
    /// SCRAM and its kind: the mechanisms, or the data of a later step.
    Sasl(Vec<u8>),
    Unknown,
}

impl Connection {
    /// Asks for TLS before anything else; the answer is one byte.
    fn ask_for_tls(&mut self) -> Result<(), Failure> {
        self.channel.send(&TLS_REQUEST)?;
        self.channel.receive()?;
        match self.channel.unread().first() {
            Some(b'S') => {
                self.channel.consume(1);
                Ok(())
            }
            _ => Err(Failure::lost(crate::wire::tunnel::NO_TLS)),
        }
    }

    /// Answers the server until it says that the login is good.
    fn authenticate(&mut self, target: &Target) -> Result<(), Failure> {
        let password = target.password.reveal();
        match self.request()? {
            Request::Nothing => return Ok(()),
            Request::Password | Request::Md5(_) | Request::Sasl(_) if password.is_empty() => {
                return Err(Failure::lost(NO_PASSWORD));
            }
            Request::Password if target.tls.is_none() && !self.channel.is_local() => {
                return Err(Failure::lost(crate::wire::tunnel::CLEAR_PASSWORD));
            }
            Request::Password => self.send_password(password)?,
            Request::Md5(salt) => {
                let hash = md5_hash(target.user.as_bytes(), password.as_bytes(), salt);
                self.send_password(&hash)?;
            }
            Request::Sasl(offered) => self.scram(&offered, password.as_bytes())?,
            Request::Unknown => {
                return Err(Failure::lost(
                    "the server asks for a login that is not known here; \
                     allow `trust`, `scram-sha-256` or `md5` in its `pg_hba.conf`",
                ));
            }
        }
        match self.request()? {
            Request::Nothing => Ok(()),
            _ => Err(out_of_order()),
        }
    }

    fn send_password(&mut self, password: &str) -> Result<(), Failure> {
        self.send(b'p', &[password.as_bytes(), &[0]].concat())
    }

    /// SCRAM-SHA-256 without channel binding, up to the server's proof.
    fn scram(&mut self, offered: &[u8], password: &[u8]) -> Result<(), Failure> {
        if !offered.split(|byte| *byte == 0).any(|name| name == SCRAM_SHA_256.as_bytes()) {
            return Err(Failure::lost("the server offers no `SCRAM-SHA-256`; use it or `trust`"));
        }
        let failed = |error: std::io::Error| Failure::lost(format!("the login failed: {error}"));
        let mut proof = ScramSha256::new(password, ChannelBinding::unsupported());
        let first = proof.message();
        let length = (first.len() as u32).to_be_bytes();
        self.send(b'p', &[SCRAM_SHA_256.as_bytes(), &[0], &length, first].concat())?;
        let challenge = self.sasl_data()?;
        let rounds = rounds(&challenge);
        if rounds > ROUNDS_MAX {
            return Err(Failure::lost(format!(
                "the server asks for {rounds} rounds of SCRAM, more than {ROUNDS_MAX}: lower its \
                 `scram_iterations` and set the password again"
            )));
        }
        proof.update(&challenge).map_err(failed)?;
        self.send(b'p', proof.message())?;
        proof.finish(&self.sasl_data()?).map_err(failed)
    }

    fn sasl_data(&mut self) -> Result<Vec<u8>, Failure> {
        match self.request()? {
            Request::Sasl(data) => Ok(data),
            _ => Err(out_of_order()),
        }
    }

    /// The next request of the login.
    fn request(&mut self) -> Result<Request, Failure> {
        let (kind, body) = self.message()?;
        let Some((code, data)) = body.split_first_chunk().filter(|_| kind == b'R') else {
            return Err(Failure::lost(
                "the server sent no PostgreSQL message that belongs to a login",
            ));
        };
        Ok(match (u32::from_be_bytes(*code), data) {
            (0, _) => Request::Nothing,
            (3, _) => Request::Password,
            (5, &[a, b, c, d]) => Request::Md5([a, b, c, d]),
            (10..=12, data) => Request::Sasl(data.to_vec()),
            _ => Request::Unknown,
        })
    }

    /// Reads parameters and the backend's key until the server is ready.
    fn settle(&mut self) -> Result<(), Failure> {
        for _ in 0..STEPS_MAX {
            match self.message()? {
                (b'S', body) => {
                    let mut words = body.split(|byte| *byte == 0);
                    if words.next() == Some(b"server_version") {
                        let version = words.next().unwrap_or_default();
                        self.server_version = String::from_utf8_lossy(version).into_owned();
                    }
                }
                (b'K', body) => {
                    self.backend = body.first_chunk().map_or(0, |id| u32::from_be_bytes(*id));
                }
                (b'Z', _) => return Ok(()),
                _ => {}
            }
        }
        Err(endless())
    }

    /// The next message that is not a notice; an error is the end of a login.
    fn message(&mut self) -> Result<(u8, Vec<u8>), Failure> {
        let mut notices = 0;
        loop {
            if let Some((kind, body)) = message::first(self.channel.unread())? {
                let (kind, body) = (kind, body.to_vec());
                self.channel.consume(message::HEAD + body.len());
                match kind {
                    b'N' if notices == STEPS_MAX => return Err(endless()),
                    b'N' => notices += 1,
                    b'E' => return Err(reply::server_error(&body).and_lost()),
                    kind => return Ok((kind, body)),
                }
            } else {
                self.channel.receive()?;
            }
        }
    }
}

/// The rounds that a challenge of SCRAM asks for: `r=…,s=…,i=4096`.
fn rounds(challenge: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(challenge);
    text.split(',').find_map(|part| part.strip_prefix("i=")?.parse().ok()).unwrap_or(0)
}

fn endless() -> Failure {
    Failure::lost(format!("the login took more than {STEPS_MAX} messages"))
}

fn out_of_order() -> Failure {
    Failure::lost("the server's login messages are out of order")
}

#[cfg(test)]
mod tests;
