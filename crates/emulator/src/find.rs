//! The emulator of this host, and how a program is started under it.

use crate::{Calls, Chosen, Counters, Error, Result, calls, counters::FILE};
use fs_err as fs;
use std::{
    env,
    ffi::OsStr,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

/// The emulator's name in the search path.
const PROGRAM: &str = "qemu-x86_64";

/// The processor that is emulated, with all that the emulator can do: libraries and servers choose
/// variants of their code by it.
const PROCESSOR: &str = "max";

/// Earlier releases lack a part of the plugin interface.
const OLDEST: u32 = 6;

/// Releases from this one on have the second version of the plugin interface and refuse the first.
const SECOND_INTERFACE: u32 = 9;

const PLUGINS: [&[u8]; 2] = [
    include_bytes!(concat!(env!("OUT_DIR"), "/counter-1.so")),
    include_bytes!(concat!(env!("OUT_DIR"), "/counter-2.so")),
];

/// Preloaded into servers, so that the stacks of their signal handlers are aligned.
const SIGNALS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/signals.so"));

/// An emulator that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emulator {
    path: PathBuf,
    version: String,
}

/// What a program needs whose calls can be recorded.
#[derive(Debug)]
pub struct Prepared {
    /// The words that come before the program's own.
    pub words: Vec<String>,
    /// Its instructions by thread.
    pub counters: Counters,
    /// Its calls.
    pub calls: Calls,
}

impl Emulator {
    /// The emulator in the search path of this process, after it has counted a small program.
    ///
    /// # Errors
    /// If there is none, it is too old, or it cannot count; the sentence has the remedy.
    pub fn find() -> Result<Self> {
        Self::find_in(&env::var_os("PATH").unwrap_or_default())
    }

    fn find_in(search: &OsStr) -> Result<Self> {
        if env::consts::ARCH != "x86_64" {
            return Err(Error::Architecture(env::consts::ARCH));
        }
        let path = env::split_paths(search).map(|folder| folder.join(PROGRAM));
        let path = path.into_iter().find(|path| path.is_file()).ok_or(Error::Missing)?;
        let text = output(Command::new(&path).arg("--version"));
        let version = text.as_deref().ok().and_then(version);
        let Some(version) = version else {
            let reason = text.err().unwrap_or_else(|| "its version is not known".to_owned());
            return Err(Error::Unusable { path, reason });
        };
        if major(&version).is_none_or(|major| major < OLDEST) {
            return Err(Error::TooOld { path, version });
        }
        let found = Self { path, version };
        found.try_out()?;
        Ok(found)
    }

    /// Name and version, with the processor that it emulates.
    pub fn about(&self) -> String {
        format!("QEMU {}, CPU model `{PROCESSOR}`", self.version)
    }

    /// Writes plugin and counters into a folder, which the program must be able to enter: the
    /// plugin as a file that it can read, the counters as one that it can write. Gives the words
    /// that come before the program's own.
    ///
    /// # Errors
    /// If they cannot be written, or the folder's path cannot be given to the emulator.
    pub fn prepare(&self, folder: &Path, program: &str) -> Result<(Vec<String>, Counters)> {
        let (plugin, counters) = (folder.join("counter.so"), folder.join(FILE));
        if folder.as_os_str().as_encoded_bytes().contains(&b',') {
            return Err(Error::Comma(folder.to_owned()));
        }
        fs::write(&plugin, self.plugin())?;
        let opened = Counters::create(folder)?;
        let (plugin, file) = (plugin.display(), counters.display());
        let program: String = program.chars().filter(|letter| *letter != ',').collect();
        let words = [
            self.path.display().to_string(),
            "-cpu".to_owned(),
            PROCESSOR.to_owned(),
            "-plugin".to_owned(),
            format!("{plugin},counters={file},program={program}"),
        ];
        Ok((words.to_vec(), opened))
    }

    /// The same for a program in which calls of chosen functions are counted.
    ///
    /// # Errors
    /// As [`Emulator::prepare`].
    pub fn prepare_with_chosen(
        &self,
        folder: &Path,
        program: &str,
        chosen: &Chosen,
    ) -> Result<Vec<String>> {
        let (mut words, _) = self.prepare(folder, program)?;
        if let (Some(plugin), false) = (words.last_mut(), chosen.is_empty()) {
            plugin.push_str(&format!(",chosen={}", chosen.argument()));
            chosen.write(folder)?;
        }
        Ok(words)
    }

    /// The same for a program whose calls can be recorded.
    ///
    /// # Errors
    /// As [`Emulator::prepare`].
    pub fn prepare_with_calls(&self, folder: &Path, program: &str) -> Result<Prepared> {
        let (mut words, counters) = self.prepare(folder, program)?;
        let calls = Calls::create(folder)?;
        if let Some(plugin) = words.last_mut() {
            plugin.push_str(&format!(",calls={}", folder.join(calls::FILE).display()));
        }
        Ok(Prepared { words, counters, calls })
    }

    /// Writes what a server preloads into a folder that it can enter, before what it preloads
    /// anyway. Gives the words for the emulator. Without it, Postgres before 16 ends with signal 11
    /// under QEMU 7.2.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn preload(&self, folder: &Path, preloaded: Option<&str>) -> Result<[String; 2]> {
        let library = folder.join("signals.so");
        fs::write(&library, SIGNALS)?;
        let mut libraries = library.display().to_string();
        if let Some(more) = preloaded {
            libraries.push_str(&format!(":{more}"));
        }
        Ok(["-E".to_owned(), format!("LD_PRELOAD={libraries}")])
    }

    fn plugin(&self) -> &'static [u8] {
        PLUGINS[usize::from(major(&self.version) >= Some(SECOND_INTERFACE))]
    }

    /// Counts a program that does nothing.
    fn try_out(&self) -> Result<()> {
        let folder = private_folder()?;
        let tried = self.prepare(&folder, "true").and_then(|(words, counters)| {
            let mut command = Command::new(&words[0]);
            let said = output(command.args(&words[1..]).arg("/bin/true"));
            Ok((said, counters.read()?))
        });
        fs::remove_dir_all(&folder)?;
        let (said, counts) = tried?;
        let unusable = |reason| Error::Unusable { path: self.path.clone(), reason };
        said.map_err(unusable)?;
        match counts.instructions() {
            0 => Err(unusable("its plugin counts nothing".to_owned())),
            _ => Ok(()),
        }
    }
}

/// A new folder that nobody else can write to.
fn private_folder() -> Result<PathBuf> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("dbdyno-emulator-{}-{}", std::process::id(), now.as_nanos());
    let folder = env::temp_dir().join(name);
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// What a program prints, or what it said instead of ending well.
fn output(command: &mut Command) -> std::result::Result<String, String> {
    let done = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let last = said.lines().last().unwrap_or_default().to_owned();
    Err(if last.is_empty() { done.status.to_string() } else { last })
}

/// The version in `qemu-x86_64 version 7.2.22 (Debian …)`.
fn version(text: &str) -> Option<String> {
    let words = text.lines().next()?.split_whitespace();
    let number = words.skip_while(|word| *word != "version").nth(1)?;
    number.starts_with(|first: char| first.is_ascii_digit()).then(|| number.to_owned())
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// What is said of an emulator that is this shell script.
    fn check(script: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PROGRAM);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let error = Emulator::find_in(folder.path().as_os_str()).unwrap_err().to_string();
        assert_eq!(error, expected.replace("HERE", &path.display().to_string()));
    }

    #[test]
    fn what_is_wrong_with_an_emulator_is_one_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Emulator::find_in(folder.path().as_os_str()).unwrap_err().to_string();
        assert_eq!(missing, "there is no `qemu-x86_64` (Debian: package `qemu-user`)");
        let says = |version: &str| format!("[ $1 = --version ] && echo {version} && exit\n");
        check(
            &says("qemu-x86_64 version 5.2.0"),
            "`HERE` is version 5.2.0: counting needs 6 or later, with plugins",
        );
        check(
            &(says("qemu-x86_64 version 7.2.22") + "echo no plugins >&2; exit 1"),
            "`HERE` cannot count: no plugins",
        );
        check(
            &(says("qemu-x86_64 version 9.1.0") + "exit 0"),
            "`HERE` cannot count: its plugin counts nothing",
        );
        check("echo hello", "`HERE` cannot count: its version is not known");
    }

    #[test]
    fn each_release_gets_the_plugin_of_its_interface() {
        let plugin =
            |version: &str| Emulator { path: PathBuf::new(), version: version.to_owned() }.plugin();
        assert_eq!(plugin("7.2.22"), PLUGINS[0]);
        assert_eq!(plugin("8.2.0"), PLUGINS[0]);
        assert_eq!(plugin("9.0.0"), PLUGINS[1]);
        assert_eq!(plugin("10.1.3"), PLUGINS[1]);
        assert_ne!(PLUGINS[0], PLUGINS[1]);
    }

    #[test]
    fn the_version_is_read() {
        let text = "qemu-x86_64 version 7.2.22 (Debian 1:7.2+dfsg-7)\nCopyright";
        assert_eq!(version(text).as_deref(), Some("7.2.22"));
        assert_eq!(version("qemu version unknown"), None);
        assert_eq!(version(""), None);
    }
}
