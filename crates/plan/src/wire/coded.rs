//! Whether a workload's file fits the coded transactions that it names.

use crate::{
    error::{Error, Location},
    source::{Fault, Under},
    suggest,
};
use model::{
    Parameters,
    coded::{self, Transactions},
    workload::Class,
};
use std::{ffi::OsStr, path::Path};

/// What a workload's file says of its coded transactions.
pub(super) struct Named<'a> {
    pub(super) coded: &'a str,
    pub(super) schema: &'a str,
    pub(super) parameters: &'a Parameters,
    /// Roles may use parameters that the transactions do not know.
    pub(super) has_roles: bool,
    pub(super) ops: Vec<NamedOp<'a>>,
}

/// One of its operations.
pub(super) struct NamedOp<'a> {
    pub(super) name: &'a str,
    pub(super) class: Option<Class>,
    pub(super) is_committed: bool,
}

impl Named<'_> {
    /// Errors: unknown transactions, another schema than theirs, parameters and operations that
    /// they do not have or that do not fit.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let Some(transactions) = coded::find(self.coded) else {
            return Err(unknown("coded transactions", self.coded, coded::names())).under("coded");
        };
        let stem = Path::new(self.schema).file_stem();
        if transactions.schemas.iter().all(|own| stem != Some(OsStr::new(own))) {
            let (name, schemas) = (transactions.name, transactions.schemas.join("` or `"));
            let reason = format!(
                "the coded transactions `{name}` need the tables of the schema `{schemas}`; write \
                 its name in `schema`, or give that name to the file of your own"
            );
            return Err(Fault::invalid(reason)).under("schema");
        }
        self.check_parameters(transactions).under("parameters")?;
        for (index, op) in self.ops.iter().enumerate() {
            op.check(transactions).under(index).under("op")?;
        }
        Ok(())
    }

    fn check_parameters(&self, transactions: &Transactions) -> Result<(), Fault> {
        let name = transactions.name;
        let mut numbers = transactions.numbers.iter();
        if let Some(missing) = numbers.find(|one| !self.parameters.contains_key(one.name)) {
            let (parameter, least) = (missing.name, missing.allowed.start());
            let reason = format!(
                "the coded transactions `{name}` need the parameter `{parameter}`; add it to \
                 `[parameters]`, such as `{parameter} = {least}`"
            );
            return Err(Fault::invalid(reason));
        }
        let known = || transactions.numbers.iter().map(|number| number.name);
        let other = self.parameters.keys().find(|given| known().all(|one| one != given.as_str()));
        if let (Some(other), false) = (other, self.has_roles) {
            return Err(unknown("parameter", other, known())).under(other);
        }
        match transactions.check(self.parameters) {
            Ok(()) => Ok(()),
            Err(misfit) => Err(Fault::invalid(misfit.reason)).under(misfit.parameter),
        }
    }
}

impl NamedOp<'_> {
    fn check(&self, transactions: &Transactions) -> Result<(), Fault> {
        let name = self.name;
        let Some(known) = transactions.operations.iter().find(|known| known.name == name) else {
            let names = transactions.operations.iter().map(|known| known.name);
            return Err(unknown("operation", name, names)).under("name");
        };
        // One without a class is refused with the other keys.
        if let Some(class) = self.class
            && class != known.class
        {
            let right = match known.class {
                Class::Read => "read",
                Class::Write => "write",
                Class::Other => "other",
            };
            let reason = format!("the operation `{name}` has the class `{right}`; write that");
            return Err(Fault::invalid(reason)).under("class");
        }
        match (self.is_committed, Some(name) == transactions.committed) {
            (true, false) => {
                let reason = match transactions.committed {
                    Some(right) => {
                        format!("`committed` belongs to the operation `{right}`; move it")
                    }
                    None => {
                        let coded = transactions.name;
                        format!(
                            "the coded transactions `{coded}` change nothing; remove `committed`"
                        )
                    }
                };
                Err(Fault::invalid(reason)).under("committed")
            }
            (false, true) => Err(Fault::invalid(format!(
                "the operation `{name}` needs `committed`, a query whose value grows by one with \
                 each committed `{name}`"
            ))),
            _ => Ok(()),
        }
    }
}

fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Fault {
    let hint = suggest::hint(name, known);
    let (place, name) = (Location::default(), name.to_owned());
    Error::UnknownName { place, what, name, hint }.into()
}
