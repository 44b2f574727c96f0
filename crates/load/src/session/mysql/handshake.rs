//! Connecting and authenticating.

use super::{MysqlConnection, packet::PacketStream, reply};
use crate::session::{Session, SqlError, credentials::Credentials, socket::Socket};
use model::drive::Target;
use mysql_common::{
    auth::plugins::{AuthProc, ChallengeResponsePlugin, Context, Response},
    constants::{CapabilityFlags, MariadbCapabilities},
    io::ParseBuf,
    packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse},
    proto::{MyDeserialize, MySerialize},
};
use std::collections::HashMap;

/// What is asked for, where the server offers it; see the module above for the reason.
const WANTED: CapabilityFlags = CapabilityFlags::CLIENT_LONG_PASSWORD
    .union(CapabilityFlags::CLIENT_LONG_FLAG)
    .union(CapabilityFlags::CLIENT_LOCAL_FILES)
    .union(CapabilityFlags::CLIENT_PROTOCOL_41)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_MULTI_STATEMENTS)
    .union(CapabilityFlags::CLIENT_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PS_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH)
    .union(CapabilityFlags::CLIENT_CONNECT_ATTRS)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(CapabilityFlags::CLIENT_SESSION_TRACK);

/// The same of MariaDB's own capabilities: progress reports, bulk statements, extended column
/// definitions, cached column definitions.
const WANTED_MARIADB: u32 = 0x1d;

/// Packets that a login may take: enough for every plugin, a limit for a server that never ends.
const STEPS_MAX: usize = 16;

/// Connects to `target`, authenticates and executes its initial statements. On error the connection
/// is closed.
pub fn connect(target: &Target) -> Result<MysqlConnection, SqlError> {
    let socket = Socket::connect(target)?;
    let mut connection = enter(socket, &target.database, Credentials::of(target))?;
    for sql in &target.initial_sql {
        connection.query(sql)?;
    }
    Ok(connection)
}

/// The login over a connected socket.
fn enter(
    socket: Socket,
    database: &str,
    credentials: Credentials,
) -> Result<MysqlConnection, SqlError> {
    let local = socket.is_local();
    let mut stream = PacketStream::new(socket);
    let greeting = stream.read()?;
    if greeting.first() == Some(&0xff) {
        return Err(SqlError { lost: true, ..reply::error(&greeting) });
    }
    if !is_plausible(&greeting) {
        return Err(SqlError::lost("the greeting is not that of a MySQL server"));
    }
    let greeting = HandshakePacket::deserialize((), &mut ParseBuf(&greeting)).map_err(|error| {
        SqlError::lost(format!(
            "the greeting is not that of a MySQL server: \
            {error}"
        ))
    })?;
    let mut login = Login { local, ..Login::new(&greeting, credentials)? };
    let (response, capabilities, extended) = login.response(&greeting, database)?;
    stream.write(&response)?;
    login.finish(&mut stream)?;
    let version = greeting.server_version_str();
    Ok(MysqlConnection {
        stream,
        capabilities: capabilities.bits(),
        mariadb_capabilities: extended.bits(),
        connection_id: greeting.connection_id(),
        // MariaDB before 11 puts this before its own version, for replicas of MySQL 5.
        server_version: version.strip_prefix("5.5.5-").unwrap_or(&version).to_owned(),
    })
}

/// Whether the length that a greeting gives for the scramble can be one: the parser overflows on
/// others.
fn is_plausible(greeting: &[u8]) -> bool {
    // Between the version's end and that length: connection, scramble, filler, flags, collation,
    // status.
    const AFTER_VERSION: usize = 4 + 8 + 1 + 2 + 1 + 2 + 2;
    let version_end = greeting.iter().skip(1).position(|byte| *byte == 0).map(|at| at + 2);
    let length = version_end.and_then(|end| greeting.get(end + AFTER_VERSION));
    length.is_some_and(|length| *length < 0x80)
}

/// The talk from the greeting to the server's OK.
struct Login {
    credentials: Credentials,
    /// Whether the password may travel in the clear.
    local: bool,
    plugin: AuthPlugin<'static>,
    procedure: AuthProc,
    scramble: Vec<u8>,
}

impl Login {
    fn new(greeting: &HandshakePacket<'_>, credentials: Credentials) -> Result<Self, SqlError> {
        let offered = greeting.auth_plugin().map(AuthPlugin::into_owned);
        // A plugin that this client does not know is answered with the native one: the server then
        // names the plugin of the account, if it is another.
        let known = offered.filter(|plugin| plugin.init().is_ok());
        let plugin = known.unwrap_or(AuthPlugin::MysqlNativePassword);
        let procedure = begin(&plugin)?;
        Ok(Self { credentials, local: false, plugin, procedure, scramble: greeting.nonce() })
    }

    /// The handshake response, and the capabilities it settles.
    fn response(
        &mut self,
        greeting: &HandshakePacket<'_>,
        database: &str,
    ) -> Result<(Vec<u8>, CapabilityFlags, MariadbCapabilities), SqlError> {
        let offered = greeting.capabilities();
        // MariaDB clears this bit of MySQL's to say that its extended capabilities follow.
        let mariadb = !offered.contains(CapabilityFlags::CLIENT_LONG_PASSWORD);
        let wanted =
            MariadbCapabilities::from_bits_retain(if mariadb { WANTED_MARIADB } else { 0 });
        let extended = wanted & greeting.mariadb_ext_capabilities();
        let scramble = self.scramble.clone();
        let answer = self.answer(&scramble)?;
        let flags = offered & WANTED;
        let with_plugin = offered.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH);
        let with_attributes = offered.contains(CapabilityFlags::CLIENT_CONNECT_ATTRS);
        let response = HandshakeResponse::new(
            answer.data(),
            greeting.server_version_parsed().unwrap_or((5, 5, 5)),
            Some(self.credentials.user.as_bytes()),
            (!database.is_empty()).then_some(database.as_bytes()),
            with_plugin.then(|| self.plugin.clone()),
            flags,
            with_attributes
                .then(|| HashMap::from([("program_name".to_owned(), "dbdyno".to_owned())])),
            1 << 24,
        )
        .with_mariadb_ext_capabilities(extended);
        let mut bytes = Vec::new();
        response.serialize(&mut bytes);
        Ok((bytes, response.capabilities(), extended))
    }

    /// Answers the server until it says OK.
    fn finish(&mut self, stream: &mut PacketStream) -> Result<(), SqlError> {
        for _ in 0..STEPS_MAX {
            let packet = stream.read()?;
            let answer = match packet.split_first() {
                Some((0x00, _)) => return Ok(()),
                Some((0xff, _)) => {
                    return Err(SqlError { lost: true, ..reply::error(&packet) });
                }
                Some((0xfe, rest)) if !rest.is_empty() => self.switch(&packet)?,
                Some((0x01, challenge)) => self.answer(challenge)?,
                _ => return Err(SqlError::lost("the server sent an unknown answer to the login")),
            };
            if let Some(data) = answer.data() {
                stream.write(data)?;
            }
        }
        Err(SqlError::lost(format!("the login took more than `{STEPS_MAX}` packets")))
    }

    /// Starts again with the plugin that the server asks for.
    fn switch(&mut self, packet: &[u8]) -> Result<Response, SqlError> {
        let request = AuthSwitchRequest::deserialize((), &mut ParseBuf(packet))
            .map_err(|error| SqlError::lost(format!("malformed request of a plugin: {error}")))?;
        self.plugin = request.auth_plugin().into_owned();
        self.procedure = begin(&self.plugin)?;
        if matches!(self.plugin, AuthPlugin::MysqlClearPassword) && !self.local {
            return Err(SqlError::lost("the server asks for a clear password over TCP; refused"));
        }
        self.scramble = request.plugin_data().to_vec();
        let scramble = self.scramble.clone();
        self.answer(&scramble)
    }

    fn answer(&mut self, challenge: &[u8]) -> Result<Response, SqlError> {
        let scene = Scene {
            password: self.credentials.password.reveal().as_bytes(),
            local: self.local,
            scramble: &self.scramble,
        };
        self.procedure.run(scene, challenge).map_err(|error| {
            let plugin = String::from_utf8_lossy(self.plugin.as_bytes()).into_owned();
            SqlError::lost(format!("login with plugin `{plugin}` failed: {error}"))
        })
    }
}

fn begin(plugin: &AuthPlugin<'_>) -> Result<AuthProc, SqlError> {
    plugin.init().map_err(|_| {
        let name = String::from_utf8_lossy(plugin.as_bytes()).into_owned();
        SqlError::lost(format!(
            "the server asks for the login plugin `{name}`, which is not known here; \
             give the user `caching_sha2_password` or `mysql_native_password`"
        ))
    })
}

/// What a plugin may ask about the connection.
struct Scene<'a> {
    password: &'a [u8],
    local: bool,
    scramble: &'a [u8],
}

impl Context for Scene<'_> {
    fn pass(&self) -> &[u8] {
        self.password
    }

    fn is_ipc_transport(&self) -> bool {
        self.local
    }

    fn is_tls_transport(&self) -> bool {
        false
    }

    fn scramble(&self) -> &[u8] {
        self.scramble
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

#[cfg(test)]
mod tests;
