//! What every test of a server needs: a run's place, a keeper, a build, a configuration.

use crate::wire::Connection;
use dbms::{Installed, Keeper, Launch, NotReady, Places, RunPlace, Server};
use model::{
    drive::Target,
    subject::{Build, Config, Setting},
};
use std::{path::PathBuf, process::Command};

/// A place to start servers in; its folders are removed at the end.
pub(crate) struct Bench {
    pub(crate) places: Places,
    pub(crate) place: RunPlace,
    pub(crate) keeper: Keeper,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.place.remove();
    }
}

/// A build and a configuration on a bench.
pub(crate) struct Subject {
    pub(crate) installed: Installed,
    pub(crate) build: Build,
    pub(crate) config: Config,
    pub(crate) label: String,
    pub(crate) data: PathBuf,
}

/// A bench of its own.
pub(crate) fn bench(id: &str) -> Bench {
    bench_at(Places::of_this_host(dbms::SERVER_USER).unwrap(), id)
}

/// The same with builds and data folders at another place.
pub(crate) fn bench_at(places: Places, id: &str) -> Bench {
    let place = places.new_run(&format!("test-{id}-{}", std::process::id())).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("keep");
    let keeper = Keeper::start_by(command, &place).unwrap();
    Bench { places, place, keeper }
}

/// `name=value` is a setting, `name?=value` an optional one.
pub(crate) fn config(settings: &[&str]) -> Config {
    let setting = |text: &&str| {
        let (name, value) = text.split_once('=').unwrap();
        Setting { optional: name.ends_with('?'), ..Setting::of(name.trim_end_matches('?'), value) }
    };
    Config {
        name: "test".to_owned(),
        settings: settings.iter().map(setting).collect(),
        ..Config::default()
    }
}

impl Bench {
    /// An installed build; `settings` as in [`config`].
    pub(crate) fn subject(&self, name: &str, settings: &[&str]) -> Subject {
        let (server, version) = name.split_once('@').unwrap();
        let build = Build::of(server, version);
        let resolved = dbms::resolve(&build, &self.places).unwrap();
        let installed =
            dbms::install(&resolved, &self.places, &mut |text| println!("  {text}")).unwrap();
        assert_eq!(installed.version, resolved.version);
        assert_eq!(installed.binary_sha256.len(), 64);
        let label = format!("{server}-{}", resolved.version);
        let data = self.place.data().join("data").join(&label);
        Subject { installed, build, config: config(settings), label, data }
    }

    /// The launch of a subject.
    pub(crate) fn launch<'a>(&'a self, subject: &'a Subject) -> Launch<'a> {
        Launch {
            installed: &subject.installed,
            config: &subject.config,
            build: &subject.build,
            data: &subject.data,
            place: &self.place,
            label: &subject.label,
        }
    }

    /// Makes the data folder.
    pub(crate) fn initialise(&self, subject: &Subject) {
        self.place.folder_for_data("data").unwrap();
        dbms::initialise(&self.launch(subject), &self.keeper).unwrap();
    }

    /// Starts a server and waits until one can log in.
    pub(crate) fn start(&self, subject: &Subject) -> dbms::Result<Server> {
        dbms::start(&self.launch(subject), &self.keeper, &mut answers)
    }
}

/// Whether one can log in.
pub(crate) fn answers(target: &Target) -> Result<(), NotReady> {
    Connection::open(target).map(drop).map_err(NotReady::Yet)
}
