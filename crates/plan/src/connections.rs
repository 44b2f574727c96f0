//! Settings that follow what a plan needs: its connections, its tables, its data.

use crate::{
    error::{Error, Location},
    estimate,
};
use model::{
    Parameters,
    plan::Plan,
    subject::{Config, Setting},
};

/// Connections of a server that no plan uses.
const WITHOUT_A_PLAN: i64 = 8;

/// What settings may follow.
struct Sizes {
    connections: i64,
    tables: i64,
    /// Rows and indexes of one server, when they are largest.
    data_bytes: i64,
}

/// The connections of the largest phase, those of all roles together.
pub(crate) fn most(plan: &Plan) -> i64 {
    let counts = plan.phases.iter().map(|phase| phase.script.connections());
    counts.max().map_or(0, i64::from)
}

/// Raises the settings of all subjects to what the plan needs.
pub(crate) fn fit(plan: &mut Plan) -> Result<(), Error> {
    let tables = i64::try_from(plan.experiment.tables).unwrap_or(i64::MAX);
    let data_bytes = estimate::largest_bytes(plan) as i64;
    let sizes = Sizes { connections: most(plan), tables, data_bytes }.parameters();
    plan.subjects.iter_mut().try_for_each(|subject| resolve(&mut subject.config, &sizes))
}

/// The settings of a configuration that is used without a plan.
pub(crate) fn fit_alone(mut config: Config) -> Result<Config, Error> {
    let sizes = Sizes { connections: WITHOUT_A_PLAN, tables: 1, data_bytes: 0 };
    resolve(&mut config, &sizes.parameters())?;
    Ok(config)
}

impl Sizes {
    fn parameters(&self) -> Parameters {
        let sizes = [
            ("connections", self.connections),
            ("tables", self.tables),
            ("data_bytes", self.data_bytes),
        ];
        sizes.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

fn resolve(config: &mut Config, sizes: &Parameters) -> Result<(), Error> {
    let settings = std::mem::take(&mut config.settings);
    for setting in settings {
        config.settings.extend(raised(setting, sizes)?);
    }
    Ok(())
}

/// The setting with its value; none where the version's own default is enough.
fn raised(mut setting: Setting, sizes: &Parameters) -> Result<Option<Setting>, Error> {
    let Some(follows) = setting.follows.take() else { return Ok(Some(setting)) };
    let needed = follows
        .at_least
        .evaluate(sizes)
        .map_err(|source| Error::Expression { place: Location::default(), source })?;
    if follows.only_above > 0 && needed <= follows.only_above {
        return Ok(None);
    }
    if setting.value.parse().is_ok_and(|value: i64| value < needed) {
        setting.value = needed.to_string();
    }
    Ok(Some(setting))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{expression::Expression, subject::Follows};

    #[test]
    fn a_setting_follows_the_connections_and_keeps_its_least() {
        let check = |connections, only_above, expected: Option<&str>| {
            let setting = Setting {
                follows: Some(Follows {
                    at_least: Expression::new("2 * connections + 16"),
                    only_above,
                }),
                ..Setting::of("max_connections", "400")
            };
            let sizes = Sizes { connections, tables: 1, data_bytes: 0 };
            let found = raised(setting, &sizes.parameters()).unwrap();
            assert_eq!(found.as_ref().map(|setting| setting.value.as_str()), expected);
            assert!(found.is_none_or(|setting| setting.follows.is_none()));
        };
        check(1, 0, Some("400"));
        check(-8, 0, Some("400"));
        check(1024, 0, Some("2064"));
        check(100, 300, None);
        check(1024, 300, Some("2064"));
    }
}
