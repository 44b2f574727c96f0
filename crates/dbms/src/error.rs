//! What can go wrong with servers, in one sentence each.

mod compile;
mod no_way_in;

use std::path::PathBuf;
pub use {compile::CompileError, no_way_in::NoWayIn};

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of this crate; each message names the thing and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file operation failed; the message of the cause names the path.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// No product has this name.
    #[error("unknown server `{name}`; {hint}")]
    UnknownServer {
        /// The name as given.
        name: String,
        /// What was probably meant, or the known names.
        hint: String,
    },
    /// A server that is there already cannot be entered.
    #[error(transparent)]
    Attach(#[from] NoWayIn),
    /// No registry holds this version.
    #[error("no known source has `{server}@{version}`; {remedy}")]
    UnknownVersion {
        /// Product.
        server: String,
        /// Version as asked for.
        version: String,
        /// What to do.
        remedy: String,
    },
    /// Tables need an extension that a server has not.
    #[error(transparent)]
    Extension(#[from] crate::no_extension::NoExtension),
    /// A registry's client program is not installed.
    #[error("`{program}` is needed to fetch `{package}`; install it, or give a build by `basedir`")]
    ClientMissing {
        /// Program.
        program: String,
        /// What it should fetch.
        package: String,
    },
    /// A registry's client program failed.
    #[error(
        "`{program}` could not fetch `{package}`; check its registry, or give `basedir`: {text}"
    )]
    ClientFailed {
        /// Program.
        program: String,
        /// What it should fetch.
        package: String,
        /// Its last words.
        text: String,
    },
    /// The machine's apt configuration names no mirror of Debian.
    #[error(
        "apt on this host has no Debian mirror for `{package}`: take a vendor's tarball (`dbdyno \
         install SERVER@VERSION --from FILE`), or give the folder of a build by `basedir`"
    )]
    NoMirror {
        /// What should be fetched.
        package: String,
    },
    /// A folder holds no build of the product.
    #[error(
        "`{folder}` holds no {server} build: `{missing}` is missing; name its base folder by \
         `basedir`",
        folder = folder.display()
    )]
    NoBuild {
        /// Product.
        server: String,
        /// Folder.
        folder: PathBuf,
        /// What was looked for.
        missing: String,
    },
    /// A base folder of the user's cannot be one.
    #[error("`{path}` {reason}", path = path.display())]
    Basedir {
        /// Path as given.
        path: PathBuf,
        /// What is wrong with it, and the remedy.
        reason: String,
    },
    /// A build is another product or version than asked for.
    #[error(
        "`{binary}` is `{found}`, not {wanted}; correct the version or the `basedir`",
        binary = binary.display()
    )]
    OtherBuild {
        /// The program.
        binary: PathBuf,
        /// What it says about itself.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// A git repository cannot be used.
    #[error("repository `{path}`: {reason}", path = path.display())]
    Repository {
        /// Its folder.
        path: PathBuf,
        /// Why, with the remedy where there is one.
        reason: String,
    },
    /// An archive cannot be read.
    #[error(
        "cannot unpack `{path}`: {reason}; give a `.tar.gz`, `.tar.xz`, `.tar.bz2`, `.tar`, \
         `.zip` or `.jar`",
        path = path.display()
    )]
    Archive {
        /// The archive.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The build is not in the cache.
    #[error(
        "`{server}@{version}` is not installed; `dbdyno install {server}@{version}` fetches it"
    )]
    NotInstalled {
        /// Product.
        server: String,
        /// Version.
        version: String,
    },
    /// A download is not the file that it should be.
    #[error(
        "the registry delivered another file for `{build}` than expected: `{file}` has the \
         SHA-256 {sha256}, expected {expected}; ask who runs the registry, or give the folder \
         of a build that you trust by `basedir`"
    )]
    OtherDownload {
        /// Product and version.
        build: String,
        /// Name of the file.
        file: String,
        /// What it has.
        sha256: String,
        /// What it should have, or the name that it should have.
        expected: String,
    },
    /// An installed build is not what was installed.
    #[error(
        "the build `{server}@{version}` has changed since it was installed: `{file}` differs from \
         its manifest; remove the folder `{folder}` and run `dbdyno install {server}@{version}`",
        file = file.display(), folder = folder.display()
    )]
    ChangedBuild {
        /// Product.
        server: String,
        /// Version.
        version: String,
        /// What differs.
        file: PathBuf,
        /// The build.
        folder: PathBuf,
    },
    /// A build from source.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The server user does not exist.
    #[error("this machine has no user `{name}`; name another by `--server-user`")]
    UnknownUser {
        /// The name.
        name: String,
    },
    /// The server user does not exist and cannot be created.
    #[error(
        "cannot create the system user `{name}` that runs the servers ({reason}): create it by \
         `useradd --system {name}` or `adduser -S {name}`, or name another by `--server-user`"
    )]
    NoServerUser {
        /// The name.
        name: String,
        /// Why.
        reason: String,
    },
    /// A folder that dbdyno needs for itself is another user's.
    #[error(
        "`{path}` belongs to user {owner} or can be changed by others, and dbdyno trusts only \
         folders of its own: remove it, or correct its owner and mode",
        path = path.display()
    )]
    ForeignFolder {
        /// Path.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// A data folder holds a file of another user.
    #[error(
        "`{path}` does not belong to user {owner}, as its folder does, and is not copied: the \
         server's data cannot be trusted; start the run again",
        path = path.display()
    )]
    ForeignFile {
        /// Path.
        path: PathBuf,
        /// Owner of the folder.
        owner: u32,
    },
    /// The server user is root.
    #[error("servers refuse to run as `{name}`; name another user by `--server-user`")]
    RootServers {
        /// The name.
        name: String,
    },
    /// The server user may not enter a folder or read a file.
    #[error(
        "user `{user}` cannot enter or read `{path}`; move it, change its mode, or name another \
         user by `--server-user`",
        path = path.display()
    )]
    Access {
        /// Name of the user, or its number where it has none.
        user: String,
        /// Path.
        path: PathBuf,
    },
    /// No folder for builds is known.
    #[error("no folder for server builds is known; set `XDG_CACHE_HOME` or `HOME`")]
    NoCache,
    /// The folder of builds cannot be created.
    #[error(
        "the folder of server builds `{path}` cannot be created: {reason}; set `XDG_CACHE_HOME` \
         to a folder that you may write to",
        path = path.display()
    )]
    Cache {
        /// Path.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// A socket's path does not fit into an address.
    #[error(
        "the socket path `{path}` is longer than 107 bytes, the limit of the system; take a \
         shorter name",
        path = path.display()
    )]
    SocketPath {
        /// Path.
        path: PathBuf,
    },
    /// A living process listens on the socket of a server that is to be started.
    #[error(
        "the socket `{path}` is in use by another process; end that process, or start another run",
        path = path.display()
    )]
    SocketInUse {
        /// Path.
        path: PathBuf,
    },
    /// Another run measures on this host.
    #[error(
        "another run, `{name}` (pid {pid}), is measuring on this host: pass `--wait` to begin \
         after it, or `--allow-concurrent`, which marks the results of both"
    )]
    OtherRun {
        /// Its experiment.
        name: String,
        /// Its process.
        pid: u32,
    },
    /// Another command of dbdyno loads this host.
    #[error(
        "another dbdyno command, `{name}` (pid {pid}), loads this host: pass `--wait` to begin \
         after it, or `--allow-concurrent`, which marks the results"
    )]
    OtherLoad {
        /// The command.
        name: String,
        /// Its process.
        pid: u32,
    },
    /// Another process uses the folder of a run.
    #[error(
        "the folder `{path}` is in use by another dbdyno process; wait for it or stop it",
        path = path.display()
    )]
    FolderInUse {
        /// Path.
        path: PathBuf,
    },
    /// A server was started otherwise than its subject says.
    #[error("`{factor}` had no effect on `{subject}`: {reason}")]
    NoEffect {
        /// Name of the factor.
        factor: &'static str,
        /// Label.
        subject: String,
        /// What is there instead, and the remedy.
        reason: String,
    },
    /// The port that a configuration names is taken.
    #[error("port `{port}` of 127.0.0.1 is in use by another process; name another port")]
    PortInUse {
        /// Port.
        port: u16,
    },
    /// A configuration names no port where it should.
    #[error("`{value}` is not a port; write a number from 1 to 65535")]
    NoPort {
        /// The value of the setting.
        value: String,
    },
    /// A configuration has a setting that each start has its own value for.
    #[error(
        "the configuration `{config}` sets `{name}`, which dbdyno itself sets for each start, to a \
         folder or an address of the run's own; leave it out{remedy}"
    )]
    OwnSetting {
        /// Name of the configuration.
        config: String,
        /// The setting.
        name: String,
        /// What else can be done, or empty.
        remedy: &'static str,
    },
    /// A data folder is not empty.
    #[error("data folder `{path}` is not empty; remove it or name another", path = path.display())]
    DataNotEmpty {
        /// Path.
        path: PathBuf,
    },
    /// The data folder could not be made.
    #[error(
        "{server} could not initialize its data folder ({reason}); the last lines of its \
        log:\n{log}"
    )]
    Initialise {
        /// Product.
        server: String,
        /// How it ended.
        reason: String,
        /// Last lines of its log.
        log: String,
    },
    /// The server did not start.
    #[error("{server} did not start ({reason}); the last lines of its log:\n{log}")]
    Start {
        /// Product.
        server: String,
        /// What happened.
        reason: String,
        /// Last lines of its log.
        log: String,
    },
    /// No certificate could be made.
    #[error("cannot make a certificate for encrypted connections: {reason}")]
    Certificate {
        /// Why.
        reason: String,
    },
    /// The server answers, but not with encrypted connections.
    #[error(
        "{build} takes no connection with `transport = \"{transport}\"` ({said}): that needs a \
         build with OpenSSL that has this version, and MySQL before 5.7 and MariaDB before 10.2 \
         usually have yaSSL; leave this level out for it"
    )]
    NoTls {
        /// Product and version.
        build: String,
        /// As experiments write it.
        transport: &'static str,
        /// What happened.
        said: String,
    },
    /// The server reached the limit of its memory.
    #[error(
        "the kernel killed `{subject}` because it had reached the limit of its memory, {mib} MiB: \
         raise `memory`, or lower the caches of its configuration"
    )]
    OutOfMemory {
        /// Label.
        subject: String,
        /// The limit.
        mib: u64,
    },
    /// The server does not know a setting of its configuration.
    #[error(
        "{build} did not start ({reason}): configuration `{config}` sets `{name}`, \
         which this version does not know; correct the name, or mark it `optional = true` to \
         leave it out where it is unknown"
    )]
    UnknownSetting {
        /// Product and version.
        build: String,
        /// What happened.
        reason: String,
        /// Name of the configuration.
        config: String,
        /// Name of the setting.
        name: String,
    },
    /// The server refuses the value of a setting.
    #[error(
        "{build} did not start ({reason}): configuration `{config}` sets `{name}`, and the server \
         says: {said}"
    )]
    RefusedSetting {
        /// Product and version.
        build: String,
        /// What happened.
        reason: String,
        /// Name of the configuration.
        config: String,
        /// Name of the setting.
        name: String,
        /// The line of its log.
        said: String,
    },
    /// The host has no room for the server's asynchronous I/O.
    #[error(
        "{server} got no requests for asynchronous I/O, of which this host permits {permitted} for \
         all servers together: {remedy}"
    )]
    AsyncIo {
        /// Product.
        server: String,
        /// Requests of all processes.
        permitted: u64,
        /// What to do.
        remedy: &'static str,
    },
    /// The server refuses a statement of a session.
    #[error(
        "the server refuses a statement of `session` in configuration `{config}`: {said}; correct \
         the statement"
    )]
    RefusedSession {
        /// Name of the configuration.
        config: String,
        /// What it says.
        said: String,
    },
    /// The server did not stop well.
    #[error("{server} did not stop cleanly ({reason}); the last lines of its log:\n{log}")]
    Stop {
        /// Product.
        server: String,
        /// What happened.
        reason: String,
        /// Last lines of its log.
        log: String,
    },
    /// Freezing or thawing failed.
    #[error("cannot {action} the server with process {pid}: {reason}; start it again")]
    Freeze {
        /// `freeze` or `thaw`.
        action: &'static str,
        /// Process.
        pid: u32,
        /// Why.
        reason: String,
    },
    /// The product has no server process.
    #[error("{server} is inside dbdyno; `dbdyno list builds {server}` shows others")]
    Embedded {
        /// Product.
        server: String,
    },
    /// The product has no embedded form.
    #[error("{server} is a server process, not a library; start it")]
    NotEmbedded {
        /// Product.
        server: String,
    },
    /// The keeper ended or speaks nonsense.
    #[error("the keeper process is gone ({reason}); its servers are stopped, start the run again")]
    KeeperGone {
        /// Why.
        reason: String,
    },
    /// The keeper could not do what it was told.
    #[error("the keeper failed: {reason}")]
    Keeper {
        /// Why.
        reason: String,
    },
    /// A manifest or configuration cannot be read.
    #[error("cannot understand `{path}`: {reason}; install the build again", path = path.display())]
    Manifest {
        /// File.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}
