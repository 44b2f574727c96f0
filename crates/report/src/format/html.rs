//! One HTML file with everything in it, which asks the network for nothing.

mod cells;
mod grid;
mod heat;
mod index;
mod items;
mod site;
mod text;

pub(crate) use index::IndexEntry;
pub use site::SiteEntry;

use super::Format;
use crate::{
    Colours, GENERATOR, Report,
    document::{Document, Item},
    page,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

/// The page's own files. They are part of the program, so they need no escaping.
const STYLE: &str = include_str!("../assets/style.css");
const SCRIPT: &str = concat!(
    include_str!("../assets/script.js"),
    include_str!("../assets/picture.js"),
    include_str!("../assets/flame.js")
);

pub(super) const FORMAT: Format = Format {
    name: "html",
    help: "one HTML file with tables, charts and data, to be opened offline",
    page: page::REPORT,
    holds_warnings: true,
    shows_details: true,
    any_document: true,
    text,
};

fn text(report: &Report, document: &Document) -> String {
    let articles = articles(document);
    let title = articles.first().map_or("dbdyno", |article| article.title);
    let content = html! { @for article in &articles { (article.markup()) } };
    whole(title, report.view.colours, contents(&articles), content)
}

/// The index of several reports.
pub(crate) fn index(entries: &[IndexEntry]) -> String {
    whole(index::TITLE, Colours::Diverging, contents(&[]), index::table(entries))
}

/// The index of a site.
pub(crate) fn site(entries: &[SiteEntry]) -> String {
    whole(site::TITLE, Colours::Diverging, contents(&[]), site::table(entries))
}

/// A page with this contents and main part.
fn whole(title: &str, colours: Colours, contents: Markup, content: Markup) -> String {
    let body = match colours {
        Colours::Diverging => "",
        Colours::Published => "published",
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(GENERATOR);
                meta http-equiv="Content-Security-Policy" content=(policy());
                link rel="icon" href="data:,";
                title { (text::shown(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body class=(body) {
                a class="skip" href="#content" { "To the answer" }
                (contents)
                main id="content" { (content) }
                (foot())
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string() + "\n"
}

/// Nothing is fetched, and no script is executed but our own: text that came from outside could do
/// nothing even if it got past the escaping.
fn policy() -> String {
    let hash = STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; img-src data:"
    )
}

/// One comparison.
struct Article<'a> {
    index: usize,
    title: &'a str,
    /// What stands before the first section.
    head: &'a [Item],
    sections: Vec<Part<'a>>,
}

/// One section.
struct Part<'a> {
    id: String,
    title: &'a str,
    items: &'a [Item],
}

fn articles(document: &Document) -> Vec<Article<'_>> {
    let is_title = |item: &Item| matches!(item, Item::Heading { level: 1, .. });
    let starts = document.items.iter().enumerate().filter(|(_, item)| is_title(item));
    let mut starts: Vec<usize> = starts.map(|(index, _)| index).collect();
    // Where nothing could be compared, a sentence stands alone.
    if starts.is_empty() && !document.items.is_empty() {
        starts.push(0);
    }
    let ends = starts.iter().skip(1).copied().chain([document.items.len()]);
    let spans = starts.iter().copied().zip(ends);
    spans.enumerate().map(|(index, (from, to))| article(index, &document.items[from..to])).collect()
}

fn article(index: usize, items: &[Item]) -> Article<'_> {
    let (title, items) = match items.split_first() {
        Some((Item::Heading { level: 1, text }, rest)) => (text.as_str(), rest),
        _ => ("dbdyno", items),
    };
    let is_section = |item: &Item| matches!(item, Item::Section { .. });
    let starts = items.iter().enumerate().filter(|(_, item)| is_section(item));
    let starts: Vec<usize> = starts.map(|(index, _)| index).collect();
    let ends = starts.iter().skip(1).copied().chain([items.len()]);
    let part = |(from, to): (usize, usize)| match &items[from] {
        Item::Section { anchor, title } => Some(Part {
            id: prefixed(index, anchor),
            title: title.as_str(),
            items: &items[from + 1..to],
        }),
        _ => None,
    };
    let sections = starts.iter().copied().zip(ends).filter_map(part).collect();
    let head = &items[..starts.first().copied().unwrap_or(items.len())];
    Article { index, title, head, sections }
}

/// The names of the first comparison are plain: most reports have one only.
fn prefixed(index: usize, name: &str) -> String {
    if index == 0 { name.to_owned() } else { format!("e{}-{name}", index + 1) }
}

impl Article<'_> {
    fn markup(&self) -> Markup {
        let mut writer = items::Writer::new(self.index);
        html! {
            article {
                header {
                    h1 { (text::inline(self.title)) }
                    div class="about" { (writer.items(self.head)) }
                }
                @for part in &self.sections {
                    section id=(part.id) aria-labelledby={ (part.id) "-title" } {
                        h2 id={ (part.id) "-title" } {
                            (text::inline(part.title))
                            a class="link" href={ "#" (part.id) }
                                aria-label="Link to this section" { "#" }
                        }
                        (writer.section(part.title, part.items))
                    }
                }
            }
        }
    }
}

fn contents(articles: &[Article<'_>]) -> Markup {
    let several = articles.len() > 1;
    html! {
        nav class="contents" aria-label="Contents" {
            span class="brand" { "dbdyno" }
            @for article in articles {
                ul {
                    @if several {
                        li class="experiment" { (text::shown(article.title)) }
                    }
                    @for part in &article.sections {
                        li { a href={ "#" (part.id) } { (text::shown(part.title)) } }
                    }
                }
            }
        }
    }
}

fn foot() -> Markup {
    html! {
        footer {
            p {
                "A ratio is a value divided by the base's. Operations per second above 1 and "
                "costs below 1 are blue, the opposite is orange; ratios within 2 % of 1, and those "
                "marked ? or !, are not colored. In the published colors, gains from 1.06 on are "
                "blue, and up to 0.94 yellow. "
                "▼ regression, ▲ improvement, ▾ worse and ▴ better by an open size, "
                "≈ small change, = equivalent, "
                "△ more instructions per operation, ? inconclusive, ! not judged, because the host "
                "was disturbed, ° measured once, so without a verdict; no symbol: not assessed. "
                "Hatched: failed, missed or without a ratio. ✕: no ratio; the table says why."
            }
            p {
                "Made by dbdyno " (env!("CARGO_PKG_VERSION")) ". "
                "This file needs no network."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::Verdict;

    #[test]
    fn the_foot_explains_every_sign() {
        let foot = foot().into_string();
        for verdict in [
            Verdict::Regression,
            Verdict::Improvement,
            Verdict::Worse,
            Verdict::Better,
            Verdict::SmallChange,
            Verdict::Equivalent,
            Verdict::CodeCost,
            Verdict::Inconclusive,
            Verdict::Invalid,
            Verdict::Unreplicated,
        ] {
            let sign = crate::words::symbol(verdict);
            assert!(foot.contains(&format!("{sign} ")), "{sign}: {foot}");
        }
    }

    #[test]
    fn a_sentence_without_a_title_is_on_the_page() {
        let document = Document { items: vec![Item::Paragraph("nothing is paced".to_owned())] };
        let articles = articles(&document);
        assert_eq!((articles.len(), articles[0].title), (1, "dbdyno"));
        assert!(articles[0].markup().into_string().contains("nothing is paced"));
    }
}
