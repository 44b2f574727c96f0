//! Functions fit a screen, have few parameters, and none of them is boolean.

use super::Rule;
use crate::repository::{File, Repository};
use proc_macro2::Span;
use syn::{
    Attribute, FnArg, ImplItemFn, ItemFn, ItemImpl, ItemMod, Path, Signature, TraitItemFn,
    spanned::Spanned, visit,
};

/// Lines of a function, with its signature.
const LINES: usize = 70;

/// Parameters of a function, `self` included.
const PARAMETERS: usize = 5;

/// Sizes and signatures of functions.
pub(super) const RULE: Rule = Rule { name: "functions", check };

fn check(repository: &Repository) -> Vec<String> {
    repository.ending(".rs").flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<String> {
    let mut visitor =
        Visitor { path: &file.path, free: usize::from(is_test(&file.path)), findings: Vec::new() };
    match syn::parse_file(&file.text) {
        Ok(syntax) => visit::visit_file(&mut visitor, &syntax),
        Err(error) => visitor.findings.push(format!("{} is not Rust: {error}", file.path)),
    }
    visitor.findings
}

struct Visitor<'a> {
    path: &'a str,
    /// Depth of implementations of traits, whose signatures somebody else chose, and of tests,
    /// whose tables read well with `true` and `false`.
    free: usize,
    findings: Vec<String>,
}

impl Visitor<'_> {
    fn check(&mut self, signature: &Signature, whole: Span) {
        let (first, last) = (signature.span().start().line, whole.end().line);
        let name = &signature.ident;
        let place = format!("{}:{first} `{name}`", self.path);
        let lines = last.saturating_sub(first) + 1;
        if lines > LINES {
            self.findings.push(format!("{place} has {lines} lines, at most {LINES}"));
        }
        if self.free > 0 {
            return;
        }
        let parameters = signature.inputs.len();
        if parameters > PARAMETERS {
            self.findings
                .push(format!("{place} has {parameters} parameters, at most {PARAMETERS}"));
        }
        if signature.inputs.iter().any(is_boolean) {
            self.findings
                .push(format!("{place} has a boolean parameter: use an enum of two names"));
        }
    }
}

/// Whether a file holds tests only.
fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/")
}

/// Whether an item is left out of what ships.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    let test = |a: &Attribute| {
        a.path().is_ident("cfg") && a.parse_args::<Path>().is_ok_and(|p| p.is_ident("test"))
    };
    attributes.iter().any(test)
}

fn is_boolean(parameter: &FnArg) -> bool {
    let FnArg::Typed(typed) = parameter else { return false };
    matches!(&*typed.ty, syn::Type::Path(path) if path.path.is_ident("bool"))
}

impl<'ast> visit::Visit<'ast> for Visitor<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.check(&function.sig, function.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.check(&function.sig, function.span());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.check(&function.sig, function.span());
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let free = usize::from(is_for_tests(&module.attrs));
        self.free += free;
        visit::visit_item_mod(self, module);
        self.free -= free;
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let free = usize::from(item.trait_.is_some());
        self.free += free;
        visit::visit_item_impl(self, item);
        self.free -= free;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(super::check(&Repository::of(&[("a.rs", text)])), expected, "{text}");
    }

    #[test]
    fn long_functions_are_found_wherever_they_are() {
        let body = |lines: usize| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines));
        check(&body(68), &[]);
        check(&body(69), &["a.rs:1 `f` has 71 lines, at most 70"]);
        check(
            &format!("struct S;\nimpl S {{\n{}}}", body(70)),
            &["a.rs:3 `f` has 72 lines, at most 70"],
        );
        check(&format!("/// Long\n/// text.\n#[inline]\n{}", body(68)), &[]);
        check("fn f( {", &["a.rs is not Rust: cannot parse string into token stream"]);
    }

    #[test]
    fn signatures_are_ours_unless_a_trait_dictates_them() {
        check("fn f(a: u8, b: u8, c: u8, d: u8, e: u8) {}", &[]);
        check(
            "fn f(a: u8, b: u8, c: u8, d: u8, e: u8, g: u8) {}",
            &["a.rs:1 `f` has 6 parameters, at most 5"],
        );
        let boolean = "a.rs:1 `f` has a boolean parameter: use an enum of two names";
        check("fn f(a: bool) {}", &[boolean]);
        check("trait T { fn f(&self, a: bool); }", &[boolean]);
        check("impl T for S { fn f(&self, a: bool) {} }", &[]);
        check("#[cfg(test)] mod tests { fn f(a: bool) {} }", &[]);
        check("#[cfg(unix)] mod tests { fn f(a: bool) {} }", &[boolean]);
        check("fn f(a: &[bool], b: Option<bool>) -> bool { true }", &[]);
    }
}
