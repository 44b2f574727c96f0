//! Colors of variants: classes of the page's style sheet.

/// Variants that get a color of their own; more are shades of one ramp in the plan's order.
const SINGLE: usize = 6;

/// Shades of the ramp.
const SHADES: usize = 12;

/// The class of each variant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Palette {
    classes: Vec<(String, String)>,
}

impl Palette {
    /// Colors for the variants in their order; bases are gray.
    pub(crate) fn of(variants: &[String], bases: &[String]) -> Self {
        let compared = variants.iter().filter(|name| !bases.contains(name)).count();
        let mut next = 0;
        let class = |name: &String| {
            if bases.contains(name) {
                return (name.clone(), "base".to_owned());
            }
            next += 1;
            (name.clone(), class(next - 1, compared))
        };
        Self { classes: variants.iter().map(class).collect() }
    }

    /// The class of a variant; gray for an unknown one.
    pub(crate) fn class(&self, variant: &str) -> String {
        let found = self.classes.iter().find(|(name, _)| name == variant);
        found.map_or_else(|| "base".to_owned(), |(_, class)| class.clone())
    }
}

fn class(index: usize, count: usize) -> String {
    if count <= SINGLE {
        return format!("s{index}");
    }
    format!("q{}", index * (SHADES - 1) / (count - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_variants_have_colours_and_many_have_shades() {
        let names = |count: usize| (0..count).map(|n| format!("v{n}")).collect::<Vec<_>>();
        let classes = |count: usize| {
            let palette = Palette::of(&names(count), &names(1));
            palette.classes.iter().map(|(_, class)| class.clone()).collect::<Vec<_>>()
        };
        assert_eq!(classes(3), ["base", "s0", "s1"]);
        let many = classes(35);
        assert_eq!((many[1].as_str(), many[34].as_str()), ("q0", "q11"));
        assert_eq!(Palette::default().class("x"), "base");
    }
}
