//! Connecting and authenticating.

use super::{Connection, packet::Packets, reply::Definitions};
use crate::wire::Failure;
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
/// MariaDB's capability to tell more of a column's type than others do.
const EXTENDED_DEFINITIONS: u32 = 0x08;
/// MariaDB's capability to leave out column definitions that it sent before.
const CACHED_DEFINITIONS: u32 = 0x10;

/// What the text of a public key has in it.
const KEY: &[u8] = b"BEGIN PUBLIC KEY";

/// Flags, longest packet, character set, what is reserved.
const TLS_REQUEST_BYTES: usize = 4 + 4 + 1 + 23;

/// Packets that a login may take: enough for every plugin, a limit for a server that never ends.
const STEPS_MAX: usize = 16;

/// The login over a connected socket.
pub(super) fn enter(mut packets: Packets, target: &Target) -> Result<Connection, Failure> {
    let greeting = packets.read().map_err(Failure::and_lost)?;
    let malformed = || Failure::lost("the greeting is not that of a MySQL server");
    if !is_plausible(&greeting) {
        return Err(malformed());
    }
    let greeting =
        HandshakePacket::deserialize((), &mut ParseBuf(&greeting)).map_err(|_| malformed())?;
    let mut login = Login::new(&greeting, target, &packets)?;
    let (response, extended) = login.response(&greeting)?;
    if let Some(tls) = &target.tls {
        // The request of TLS is what a response begins with.
        packets.write(response.get(..TLS_REQUEST_BYTES).unwrap_or_default())?;
        packets.channel.encrypt(tls)?;
    }
    packets.write(&response)?;
    login.finish(&mut packets)?;
    let agreed = |capability| extended.bits() & capability != 0;
    let version = greeting.server_version_str();
    Ok(Connection {
        packets,
        definitions: match agreed(CACHED_DEFINITIONS) {
            true => Definitions::PerhapsCached,
            false => Definitions::Always,
        },
        // Catalog, schema, table twice, name twice, and of MariaDB the extended type.
        definition_texts: if agreed(EXTENDED_DEFINITIONS) { 7 } else { 6 },
        id: greeting.connection_id(),
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

/// The exchange from the greeting to the server's OK.
struct Login<'a> {
    target: &'a Target,
    /// Whether the connection does not leave the host.
    local: bool,
    plugin: AuthPlugin<'static>,
    procedure: AuthProc,
    scramble: Vec<u8>,
}

impl<'a> Login<'a> {
    fn new(
        greeting: &HandshakePacket<'_>,
        target: &'a Target,
        packets: &Packets,
    ) -> Result<Self, Failure> {
        let offered = greeting.auth_plugin().map(AuthPlugin::into_owned);
        // A plugin that this client does not know is answered with the native one: the server then
        // names the plugin of the account, if it is another.
        let known = offered.filter(|plugin| begin(plugin).is_ok());
        let plugin = known.unwrap_or(AuthPlugin::MysqlNativePassword);
        let procedure = begin(&plugin)?;
        let local = packets.channel.is_local();
        Ok(Self { target, local, plugin, procedure, scramble: greeting.nonce() })
    }

    /// The handshake response, and the capabilities of MariaDB's that it settles.
    fn response(
        &mut self,
        greeting: &HandshakePacket<'_>,
    ) -> Result<(Vec<u8>, MariadbCapabilities), Failure> {
        let offered = greeting.capabilities();
        // MariaDB clears this bit of MySQL's to say that its extended capabilities follow.
        let mariadb = !offered.contains(CapabilityFlags::CLIENT_LONG_PASSWORD);
        let wanted =
            MariadbCapabilities::from_bits_retain(if mariadb { WANTED_MARIADB } else { 0 });
        let extended = wanted & greeting.mariadb_ext_capabilities();
        let scramble = self.scramble.clone();
        let answer = self.answer(&scramble)?;
        let mut flags = offered & WANTED;
        if self.target.tls.is_some() {
            if !offered.contains(CapabilityFlags::CLIENT_SSL) {
                return Err(Failure::lost(crate::wire::tunnel::NO_TLS));
            }
            flags |= CapabilityFlags::CLIENT_SSL;
        }
        let with_plugin = offered.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH);
        let with_attributes = offered.contains(CapabilityFlags::CLIENT_CONNECT_ATTRS);
        let response = HandshakeResponse::new(
            answer.data(),
            greeting.server_version_parsed().unwrap_or((5, 5, 5)),
            Some(self.target.user.as_bytes()),
            Some(self.target.database.as_bytes()).filter(|name| !name.is_empty()),
            with_plugin.then(|| self.plugin.clone()),
            flags,
            with_attributes
                .then(|| HashMap::from([("program_name".to_owned(), "dbdyno".to_owned())])),
            1 << 24,
        )
        .with_mariadb_ext_capabilities(extended);
        let mut bytes = Vec::new();
        response.serialize(&mut bytes);
        Ok((bytes, extended))
    }

    /// Answers the server until it says OK.
    fn finish(&mut self, packets: &mut Packets) -> Result<(), Failure> {
        for _ in 0..STEPS_MAX {
            let packet = packets.read().map_err(Failure::and_lost)?;
            let answer = match packet.split_first() {
                Some((0x00, _)) => return Ok(()),
                // An account from before 4.1, whose plugin has no name yet.
                Some((0xfe, [])) => return begin(&AuthPlugin::MysqlOldPassword).map(drop),
                Some((0xfe, _)) => self.switch(&packet)?,
                Some((0x01, challenge)) => self.answer(challenge)?,
                _ => return Err(Failure::lost("the server sent an unknown answer to the login")),
            };
            if let Some(data) = answer.data() {
                packets.write(data)?;
            }
        }
        Err(Failure::lost(format!("the login took more than `{STEPS_MAX}` packets")))
    }

    /// Starts again with the plugin that the server asks for.
    fn switch(&mut self, packet: &[u8]) -> Result<Response, Failure> {
        let request = AuthSwitchRequest::deserialize((), &mut ParseBuf(packet))
            .map_err(|error| Failure::lost(format!("malformed request of a plugin: {error}")))?;
        self.plugin = request.auth_plugin().into_owned();
        self.procedure = begin(&self.plugin)?;
        self.scramble = request.plugin_data().to_vec();
        let scramble = self.scramble.clone();
        self.answer(&scramble)
    }

    fn answer(&mut self, challenge: &[u8]) -> Result<Response, Failure> {
        let is_safe = self.local || self.target.tls.is_some();
        if matches!(self.plugin, AuthPlugin::MysqlClearPassword) && !is_safe {
            return Err(Failure::lost(crate::wire::tunnel::CLEAR_PASSWORD));
        }
        // Whoever stands in between sends a key of their own.
        let is_key = challenge.windows(KEY.len()).any(|part| part == KEY);
        if is_key && !is_safe && self.target.endpoint.is_elsewhere() {
            return Err(Failure::lost(crate::wire::tunnel::UNKNOWN_KEY));
        }
        let context = LoginContext {
            password: self.target.password.reveal().as_bytes(),
            local: self.local,
            encrypted: self.target.tls.is_some(),
            scramble: &self.scramble,
        };
        self.procedure.run(context, challenge).map_err(|error| {
            let plugin = String::from_utf8_lossy(self.plugin.as_bytes()).into_owned();
            Failure::lost(format!("login with plugin `{plugin}` failed: {error}"))
        })
    }
}

/// The first step of a plugin that is known here. Whoever asks for the answer of the oldest one
/// learns the password from it, and the library has `parsec` by name only.
fn begin(plugin: &AuthPlugin<'_>) -> Result<AuthProc, Failure> {
    let is_known = !matches!(plugin, AuthPlugin::MysqlOldPassword | AuthPlugin::Parsec);
    plugin.init().ok().filter(|_| is_known).ok_or_else(|| {
        let name = String::from_utf8_lossy(plugin.as_bytes()).into_owned();
        Failure::lost(format!(
            "the server asks for the login plugin `{name}`, which is not known here; give the \
             user `caching_sha2_password`, `mysql_native_password` or MariaDB's `ed25519`"
        ))
    })
}

/// What a plugin may ask about the connection.
struct LoginContext<'a> {
    password: &'a [u8],
    local: bool,
    encrypted: bool,
    scramble: &'a [u8],
}

impl Context for LoginContext<'_> {
    fn pass(&self) -> &[u8] {
        self.password
    }

    fn is_ipc_transport(&self) -> bool {
        self.local
    }

    fn is_tls_transport(&self) -> bool {
        self.encrypted
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
