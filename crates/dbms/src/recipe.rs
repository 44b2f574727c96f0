//! The recipes that come with dbdyno: `catalog/recipes/SERVER.toml`.

use crate::{CompileError, Error, Result};
use model::{recipe::Recipe, subject::Build};
use std::{collections::BTreeMap, sync::LazyLock};

const TEXTS: &[(&str, &str)] = &[
    ("mariadb", include_str!("../../../catalog/recipes/mariadb.toml")),
    ("mysql", include_str!("../../../catalog/recipes/mysql.toml")),
    ("postgres", include_str!("../../../catalog/recipes/postgres.toml")),
    ("sqlite", include_str!("../../../catalog/recipes/sqlite.toml")),
];

static SHIPPED: LazyLock<BTreeMap<&str, Recipe>> = LazyLock::new(|| {
    let read = |(server, text): &(&'static str, &str)| {
        (*server, toml::from_str(text).expect("a test reads every recipe"))
    };
    TEXTS.iter().map(read).collect()
});

/// The recipe of a build: the user's, or the one for its product.
pub(crate) fn of(build: &Build) -> Result<&Recipe> {
    let own = build.compilation.recipe.as_ref();
    own.or_else(|| SHIPPED.get(build.server.as_str()))
        .ok_or_else(|| Error::Compile(CompileError::NoRecipe { server: build.server.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::DBMSES;

    #[test]
    fn every_product_has_a_recipe_with_the_same_sets_of_flags() {
        let names = |server: &str| SHIPPED[server].flags.keys().cloned().collect::<Vec<_>>();
        for product in DBMSES {
            let build = Build::of(product.name(), "");
            let recipe = of(&build).unwrap();
            assert_eq!(recipe.check(), Ok(()), "{}", product.name());
            assert_eq!(names(product.name()), names("sqlite"));
        }
        let message = of(&Build::of("oracle", "")).unwrap_err().to_string();
        assert!(message.starts_with("`oracle` has no recipe"), "{message}");
    }
}
