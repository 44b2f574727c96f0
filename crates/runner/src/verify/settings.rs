//! Settings that were asked for, beside what the server says they are.

use super::Discrepancy;
use crate::{Error, server::Instance};
use dbms::factor;
use model::subject::Subject;

/// The settings whose value is another one. What a server does not report is not compared.
pub(super) fn check(instance: &mut Instance, subject: &Subject) -> Result<Vec<Discrepancy>, Error> {
    let reported = instance.readback()?;
    let version = instance.version_of_settings();
    let texts = factor::differing(&subject.config.settings, version, &reported);
    let found = texts.into_iter();
    Ok(found.map(|text| Discrepancy { check: None, text, documented: None }).collect())
}
