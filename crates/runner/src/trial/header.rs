//! The head of a trial's record.

use crate::{Error, run::Run, server::Instance};
use dbms::Server;
use model::{
    Levels,
    provenance::Provenance,
    record::TrialHeader,
    secret::{HIDDEN, is_secret_name},
    subject::Subject,
};

/// Name among the settings of what none of the servers tells: the allocator in its process.
const ALLOCATOR: &str = "memory allocator";

/// And how its connections are encrypted.
const ENCRYPTION: &str = "encryption";

/// The head of a trial's record: what the server is and how it is configured, as it reports it.
pub(crate) fn header(
    run: &Run<'_>,
    subject: usize,
    block: u32,
    instance: &mut Instance,
) -> Result<TrialHeader, Error> {
    let about: &Subject = run.subject(subject);
    let seed = run.plan.blocks.iter().find(|b| b.index == block).map_or(0, |b| b.seed);
    let mut settings = settings(instance, about)?;
    if !instance.is_attached() {
        settings.insert(ALLOCATOR.to_owned(), dbms::allocator_of(instance.serving().0));
    }
    settings.extend(instance.encryption.iter().map(|found| {
        (ENCRYPTION.to_owned(), format!("TLS {} with {}", found.version, found.cipher))
    }));
    let provenance = provenance(run, subject, instance)?;
    let rendered = instance.server.as_ref().map(Server::rendered);
    let ignored_settings = match rendered {
        Some(rendered) => rendered.ignored.clone(),
        None => untold(about, &settings),
    };
    let installed = run.build(subject);
    Ok(TrialHeader {
        format: model::record::RECORD_FORMAT,
        trial: String::new(),
        run: String::new(),
        experiment: run.plan.experiment.name.clone(),
        plan: run.plan.hash.clone(),
        block,
        subject: about.label.clone(),
        server_version: instance.server_version.clone(),
        binary_sha256: installed.map(|i| i.binary_sha256.clone()).unwrap_or_default(),
        configuration: rendered.map(|r| r.text.clone()).unwrap_or_default(),
        settings,
        ignored_settings,
        seed,
        foreground: instance.foreground.how.clone(),
        provenance,
        round_trip_us: instance.round_trip_us,
        agent: instance.agent_found.clone(),
    })
}

/// Where the build of a subject comes from. A server that reports nothing of it has the rest.
fn provenance(run: &Run<'_>, subject: usize, instance: &mut Instance) -> Result<Provenance, Error> {
    let reported = match instance.pairs(instance.product.build_sql()) {
        Err(Error::Sql { lost: false, .. }) => Levels::new(),
        other => other?,
    };
    if let Some(attach) = &run.subject(subject).build.attach {
        return Ok(dbms::provenance::of_attached(attach.place(), reported));
    }
    Ok(match run.build(subject) {
        Some(installed) => installed.provenance(reported)?,
        None => dbms::provenance::of_bundled(reported),
    })
}

/// Optional settings that an embedded engine does not know, and so ignores.
fn untold(about: &Subject, settings: &Levels) -> Vec<String> {
    let asked = about.config.settings.iter().filter(|setting| setting.optional);
    let asked = asked.map(|setting| setting.name.clone());
    asked.filter(|name| !settings.contains_key(name)).collect()
}

/// The settings as the server reports them, by name. Fails where an embedded engine does not know
/// one that the configuration has, unless it is optional.
pub(crate) fn settings(instance: &mut Instance, about: &Subject) -> Result<Levels, Error> {
    let product = instance.product;
    let mut settings = instance.pairs(product.settings_sql())?;
    for (name, sql) in product.settings_by_name(&about.config) {
        let told = instance.driver.query(&sql)?.into_iter().flatten().flatten().next();
        let mut asked = about.config.settings.iter();
        let is_needed = asked.any(|setting| setting.name == name && !setting.optional);
        match told {
            Some(value) => drop(settings.insert(name, value)),
            None if is_needed => return Err(unknown_setting(about, &name)),
            None => {}
        }
    }
    hide(&mut settings, about);
    Ok(settings)
}

/// Hides the settings that the configuration marks as secret, and, of a server that somebody else
/// set up, those with the name of a secret or a password in their value.
fn hide(settings: &mut Levels, about: &Subject) {
    // Servers may write names otherwise.
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let hidden = about.config.settings.iter().filter(|setting| setting.is_secret());
    let hidden: Vec<String> = hidden.map(|setting| plain(&setting.name)).collect();
    let is_foreign = about.build.attach.is_some();
    for (name, value) in settings {
        let says = !value.is_empty() && (is_secret_name(name) || holds_password(value));
        if hidden.contains(&plain(name)) || (is_foreign && says) {
            HIDDEN.clone_into(value);
        }
    }
}

/// Whether there is a password in a value, as in that of `primary_conninfo`, which a server keeps
/// that was a standby once.
fn holds_password(value: &str) -> bool {
    let dense: String = value.to_lowercase().split_whitespace().collect();
    dense.contains("password=")
}

/// An embedded engine ignores what it does not know, which would compare equal subjects.
fn unknown_setting(subject: &Subject, name: &str) -> Error {
    Error::Preflight(format!(
        "`{}` sets `{name}`, which {} does not know or does not report: check the spelling, leave \
         it out, or mark it `optional = true`",
        subject.label, subject.build.server
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        attach::Attach,
        subject::{Build, Config, Setting},
    };

    #[test]
    fn an_optional_setting_that_an_engine_does_not_tell_was_ignored() {
        let optional = |name: &str| Setting { optional: true, ..Setting::of(name, "1") };
        let settings = vec![optional("cache_size"), optional("cach_size"), Setting::of("x", "1")];
        let config = Config { settings, ..Config::default() };
        let (label, build) = ("mine".to_owned(), Build::of("sqlite", ""));
        let about = Subject { label, build, config, levels: Levels::new() };
        let told = Levels::from([("cache_size".to_owned(), "1".to_owned())]);
        assert_eq!(untold(&about, &told), ["cach_size"]);
    }

    #[test]
    fn passwords_of_a_server_of_somebody_else_are_not_recorded() {
        let settings = [
            ("password_encryption", "scram-sha-256"),
            ("primary_conninfo", "user=copy password = hunter2 host=db"),
            ("report_password", ""),
            ("restore_command", "PGPASSWORD=hunter2 fetch %f"),
            ("shared_preload_libraries", "passwordcheck"),
        ];
        let shown = |attach: Option<Box<Attach>>| {
            let build = Build { attach, ..Build::of("postgres", "") };
            let (label, config) = ("old".to_owned(), Config::default());
            let about = Subject { label, build, config, levels: Levels::new() };
            let own = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let mut own = Levels::from(own);
            hide(&mut own, &about);
            own.into_values().collect::<Vec<_>>()
        };
        let foreign = shown(Some(Box::default()));
        assert_eq!(foreign, [HIDDEN, HIDDEN, "", HIDDEN, "passwordcheck"]);
        assert_eq!(shown(None), settings.map(|(_, value)| value));
    }
}
