//! Option groups that several commands share.

use crate::{idle, talk, trust, two_runs};
use anyhow::Context;
use clap::{
    Arg, ArgMatches, Args, Command, ValueEnum, builder::NonEmptyStringValueParser as NonEmpty,
    value_parser,
};
use model::plan::Plan;
use plan::{Catalog, Emulation};
use report::{Colors, Screen};
use runner::{Counts, DataFolders, Options, Resume, Stop};
use std::{io::IsTerminal, path::PathBuf, sync::Arc, time::Duration};
use store::{Results, Selection};

/// The results folder of a command.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResultsArgs {
    /// Results folder
    #[arg(long, value_name = "DIR", default_value = DEFAULT_RESULTS)]
    pub(crate) results: PathBuf,
}

/// The folder of a fan-out.
#[derive(Debug, Clone, Args)]
pub(crate) struct FanoutArgs {
    /// Folder that `dbdyno submit` wrote
    pub(crate) folder: PathBuf,
}

/// The results folder where none is named.
pub(crate) const DEFAULT_RESULTS: &str = "dbdyno-results";

// No doc comments on groups of options: clap would show them as the command's description.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunArgs {
    /// Take this run instead of the latest finished one of each experiment: its identifier or the
    /// start of it, as `dbdyno list runs` shows it, or `latest`
    #[arg(value_name = "RUN", conflicts_with = "all")]
    pub(crate) run: Option<String>,
    /// Include all runs in the folder, not only the latest of each experiment
    #[arg(long)]
    pub(crate) all: bool,
}

impl RunArgs {
    /// The runs that are meant.
    pub(crate) fn selection(&self, results: &Results) -> anyhow::Result<Selection> {
        Ok(match &self.run {
            Some(run) => Selection::Run(two_runs::find(&results.runs()?, run)?.id),
            None if self.all => Selection::All,
            None => Selection::LatestPerExperiment,
        })
    }
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ChoiceArgs {
    /// Show only these variants and their bases; `*` and `?` are wildcards
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = NonEmpty::new())]
    pub(crate) variant: Vec<String>,
    /// Use only these archives or experiments; `*` and `?` are wildcards
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = NonEmpty::new())]
    pub(crate) archive: Vec<String>,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AliasArgs {
    /// Show a variant under another name; may be repeated
    #[arg(long, value_name = "FULL=SHORT")]
    pub(crate) alias: Vec<String>,
    /// Read aliases from a TOML file with a line `"FULL" = "SHORT"` for each
    #[arg(long, value_name = "FILE")]
    pub(crate) alias_file: Option<PathBuf>,
}

/// The catalog of a command: workloads, suites, schemas and configurations.
#[derive(Debug, Clone, Args)]
pub(crate) struct CatalogArgs {
    /// Folder of your own workloads, schemas, suites and configs; a file there replaces the shipped
    /// file of the same name
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Option<PathBuf>,
}

impl CatalogArgs {
    /// These options as words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let folder = self.catalog.iter().map(|folder| folder.display().to_string());
        folder.flat_map(|folder| ["--catalog".to_owned(), folder]).collect()
    }

    /// The catalog that these options describe.
    pub(crate) fn open(&self) -> anyhow::Result<Catalog> {
        Ok(match &self.catalog {
            Some(folder) if !folder.is_dir() => {
                anyhow::bail!("`--catalog {}`: there is no such folder", folder.display())
            }
            Some(folder) => Catalog::with_overlay(folder)?,
            None => Catalog::embedded()?,
        })
    }
}

/// The system user of the servers.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostArgs {
    /// System user that runs the servers when root starts dbdyno; `dbdyno` is created if it is
    /// missing
    #[arg(long, value_name = "USER", default_value = dbms::SERVER_USER)]
    pub(crate) server_user: String,
}

impl HostArgs {
    /// These options as words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        match self.server_user.as_str() {
            dbms::SERVER_USER => Vec::new(),
            user => vec!["--server-user".to_owned(), user.to_owned()],
        }
    }

    /// The folders of builds, data and sockets on this host.
    pub(crate) fn places(&self) -> anyhow::Result<dbms::Places> {
        Ok(Self::said(dbms::Places::of_this_host(&self.server_user)?))
    }

    /// The same for a command that only looks, which creates none.
    pub(crate) fn seen_places(&self) -> anyhow::Result<dbms::Places> {
        Ok(Self::said(dbms::Places::seen_on_this_host(&self.server_user)?))
    }

    /// Says what is unusual about them.
    fn said(places: dbms::Places) -> dbms::Places {
        if let Some(ignored) = dbms::ignored_cache_home() {
            talk::say(&format!(
                "warning: `XDG_CACHE_HOME` is `{}`, no absolute path, and is ignored: builds are \
                 in `{}`",
                ignored.display(),
                places.root.display()
            ));
        }
        if let Some(folder) = &places.untrusted {
            talk::say(&format!(
                "warning: there were files below `{}` that another user could change, or symbolic \
                 links; they were moved to `{}` and are not used: builds are fetched again; remove \
                 that folder when nothing in it is needed",
                places.root.display(),
                folder.display()
            ));
        }
        places
    }
}

/// Environment variable that names another folder for the announcements of runs, so that tests of
/// dbdyno do not see each other.
const ANNOUNCEMENTS: &str = "DBDYNO_ANNOUNCEMENTS";

/// Where processes of dbdyno tell each other what they do.
pub(crate) fn announcements() -> PathBuf {
    std::env::var_os(ANNOUNCEMENTS).map_or_else(dbms::shared_folder, PathBuf::from)
}

/// Environment variable that, if it is set, lets disturbed rounds be measured only once, so that
/// tests of dbdyno, which disturb each other, execute what they plan.
const NO_REPETITION: &str = "DBDYNO_NO_REPETITION";

/// What becomes of disturbed rounds.
pub(crate) fn disturbed_rounds() -> runner::DisturbedRounds {
    match std::env::var_os(NO_REPETITION) {
        Some(_) => runner::DisturbedRounds::Keep,
        None => runner::DisturbedRounds::Repeat,
    }
}

/// Whether other commands of dbdyno may load the host at the same time.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConcurrencyArgs {
    /// Run even while another run measures; marks both
    #[arg(long)]
    pub(crate) allow_concurrent: bool,
    /// Wait until no other run is in the way, instead of refusing to begin
    #[arg(long, conflicts_with = "allow_concurrent")]
    pub(crate) wait: bool,
}

/// How often `--wait` looks whether the other run has ended.
const WAIT: Duration = Duration::from_millis(500);

impl ConcurrencyArgs {
    /// Announces this command to others on this host; `measures` says whether it measures or only
    /// loads the host. Nothing, with a warning, where that is not possible.
    ///
    /// Fails if another one is in the way, or if `stop` is raised while it is waited for.
    pub(crate) fn announce(
        &self,
        (name, measures): (&str, bool),
        stop: &Stop,
    ) -> anyhow::Result<Option<Arc<dbms::Announcement>>> {
        let folder = announcements();
        let concurrency = match self.allow_concurrent {
            true => dbms::Concurrency::Allowed,
            false => dbms::Concurrency::Refused,
        };
        let mut told = None;
        loop {
            match dbms::announce(&folder, (name, measures), concurrency) {
                Ok(announcement) => return Ok(Some(Arc::new(announcement))),
                Err(dbms::Error::File(error)) => {
                    talk::say(&format!("warning: other runs on this host are not seen: {error}"));
                    return Ok(None);
                }
                Err(dbms::Error::OtherRun { name, pid } | dbms::Error::OtherLoad { name, pid })
                    if self.wait =>
                {
                    // Another command may have come in the way meanwhile.
                    if told.replace(pid) != Some(pid) {
                        talk::say(&format!("waiting for `{name}` (pid {pid}) to end"));
                    }
                    stop.sleep(WAIT)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// When verdicts are colored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Also into a file or a pipe
    Always,
    /// Signs only
    Never,
}

impl Color {
    /// The name of the option, which all commands have.
    const NAME: &'static str = "color";

    /// The option.
    pub(crate) fn option() -> Arg {
        Arg::new(Self::NAME)
            .long(Self::NAME)
            .global(true)
            // Below the options of the command itself.
            .display_order(900)
            .value_name("WHEN")
            .value_parser(value_parser!(Self))
            .hide_possible_values(true)
            .help("Color verdicts: always, never or auto (default: on a terminal without NO_COLOR)")
    }

    /// What the tables on stdout may use: its width, and colors as asked for.
    pub(crate) fn screen(matches: &ArgMatches) -> Screen {
        let asked = matches.get_one(Self::NAME).copied().unwrap_or(Self::Auto);
        let stdout = std::io::stdout();
        let (columns, is_terminal) = (talk::columns(&stdout), stdout.is_terminal());
        let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let on = match asked {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => is_terminal && !is_plain && !talk::is_dumb(),
        };
        Screen { columns, colors: if on { Colors::On } else { Colors::Off } }
    }
}

/// How a run shows its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressStyle {
    /// Two lines that are redrawn, on a terminal
    Bar,
    /// One line per slice, in the format of sysbench's interval reports
    Plain,
    /// No progress display
    None,
}

/// What commands that start servers take: where results, workloads and servers are, and how to
/// behave beside others.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeasuringArgs {
    #[command(flatten)]
    pub(crate) results: ResultsArgs,
    #[command(flatten)]
    pub(crate) catalog: CatalogArgs,
    #[command(flatten)]
    pub(crate) host: HostArgs,
    #[command(flatten)]
    pub(crate) concurrency: ConcurrencyArgs,
    /// Progress display on stderr [default: bar on a terminal, otherwise plain]
    #[arg(long, value_enum, value_name = "STYLE")]
    pub(crate) progress: Option<ProgressStyle>,
}

impl MeasuringArgs {
    /// Options of a new run that nobody judges, and that removes its data folders.
    pub(crate) fn options(
        &self,
        catalog: &Catalog,
        announcement: Option<Arc<dbms::Announcement>>,
    ) -> anyhow::Result<Options> {
        Ok(Options {
            exe: std::env::current_exe().context("cannot find the path of this program")?,
            results: self.results.results.clone(),
            resume: Resume::No,
            data: DataFolders::Remove,
            counts: None,
            disturbed: disturbed_rounds(),
            ending: Default::default(),
            explain: None,
            source: catalog.all_source_parts()?,
            announcement,
            command: Vec::new(),
        })
    }
}

/// How user instructions are counted.
#[derive(Debug, Clone, Args)]
pub(crate) struct CountsArgs {
    /// How to count user instructions [default: hardware if this host permits it, otherwise
    /// emulated if QEMU is installed, otherwise none]
    #[arg(long, value_enum, value_name = "WAY")]
    counts: Option<Ways>,
}

impl CountsArgs {
    /// What a plan takes, seconds. Where nobody says how instructions are counted it is the same on
    /// every host.
    pub(crate) fn estimated_seconds(&self, plan: &Plan, places: &dbms::Places) -> f64 {
        match self.counts() {
            None | Some(Counts::Emulated) => plan.estimate.seconds,
            Some(Counts::Hardware | Counts::None) => {
                let versions = crate::versions::HostVersions { places };
                plan::seconds(plan, &versions, Emulation::Without)
            }
        }
    }

    /// This option as words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let way = self.counts().map(|counts| counts.word().to_owned());
        way.map_or(Vec::new(), |way| vec!["--counts".to_owned(), way])
    }

    /// The way that is asked for.
    pub(crate) fn counts(&self) -> Option<Counts> {
        self.counts.map(|way| match way {
            Ways::Hardware => Counts::Hardware,
            Ways::Emulated => Counts::Emulated,
            Ways::None => Counts::None,
        })
    }
}

/// Ways to count user instructions.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Ways {
    /// By the processor, in the measured slices
    Hardware,
    /// Under QEMU's user-mode emulation, on another start of each server
    Emulated,
    /// By the processor where it can, otherwise not at all
    None,
}

/// Which experiment, and what this invocation changes in it.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExperimentArgs {
    /// TOML file, or the name of a shipped experiment (see `dbdyno list experiments`)
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiment: Option<String>,
    /// Use only these workloads of the experiment
    #[arg(long, value_name = "WORKLOAD,…", value_delimiter = ',', value_parser = NonEmpty::new())]
    pub(crate) only: Vec<String>,
    /// Override one key of the experiment, such as `rows=1000000`; can be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Labels of the variants to keep, for commands that let them be chosen.
    #[arg(skip)]
    pub(crate) variants: Vec<String>,
}

/// Which variants of an experiment are measured.
#[derive(Debug, Clone, Args)]
pub(crate) struct VariantArgs {
    /// Use only these variants and their bases, as `dbdyno plan` calls them
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = NonEmpty::new())]
    pub(crate) variant: Vec<String>,
}

impl ExperimentArgs {
    /// What is changed in the experiment, as words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let list = |flag: &str, names: &[String]| {
            let is_given = !names.is_empty();
            is_given.then(|| [flag.to_owned(), names.join(",")])
        };
        let lists = [list("--only", &self.only), list("--variant", &self.variants)];
        let set = self.set.iter().map(|set| ["--set".to_owned(), set.clone()]);
        lists.into_iter().flatten().chain(set).flatten().collect()
    }

    /// Arguments of a command that takes the experiment `name` where none is named.
    pub(crate) fn with_default(command: Command, name: &'static str) -> Command {
        command.mut_arg("experiment", |argument| argument.default_value(name))
    }

    /// Arguments of a command for which there is no default experiment.
    pub(crate) fn required(command: Command) -> Command {
        command.mut_arg("experiment", |argument| argument.required(true))
    }

    /// The experiment, whose versions are still open, with values for what it does not set.
    pub(crate) fn draft(&self, catalog: &Catalog, unset: &Unset) -> anyhow::Result<plan::Draft> {
        let name = self.experiment.as_deref().context("name an experiment")?;
        let load = |set: Vec<String>| {
            let (only, variants) = (self.only.clone(), self.variants.clone());
            let overrides = plan::Overrides { set, only, variants, seed: unset.seed };
            plan::load_experiment(name, catalog, &overrides)
        };
        let draft = load(self.set.clone())?;
        if let (Some(last), true) = (unset.looks.last(), draft.experiment.looks.is_empty()) {
            let ours = [format!("blocks={last}"), format!("looks={:?}", unset.looks)];
            return Ok(load(ours.into_iter().chain(self.set.iter().cloned()).collect())?);
        }
        Ok(draft)
    }

    /// The plan of the experiment on this host.
    pub(crate) fn plan(&self, catalog: &Catalog, places: &dbms::Places) -> anyhow::Result<Plan> {
        self.plan_with(catalog, places, &Unset::default())
    }

    /// The same with values for what the experiment does not set.
    pub(crate) fn plan_with(
        &self,
        catalog: &Catalog,
        places: &dbms::Places,
        unset: &Unset,
    ) -> anyhow::Result<Plan> {
        let versions = crate::versions::HostVersions { places };
        let draft = self.draft(catalog, unset)?;
        idle::tell(&draft);
        trust::warn_of_scripts(&draft);
        Ok(plan::plan(&draft, catalog, &versions)?)
    }
}

/// What holds where an experiment says nothing.
#[derive(Debug, Default)]
pub(crate) struct Unset {
    /// Seed of everything random.
    pub(crate) seed: Option<u64>,
    /// Numbers of blocks after which the run is judged.
    pub(crate) looks: Vec<u32>,
}

/// The experiment that `dbdyno run` takes where none is named.
pub(crate) const QUICKSTART: &str = "quickstart";
