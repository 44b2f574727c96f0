//! The values of a connection's statements: drawn, remembered, kept.

use super::Turn;
use crate::client::{Client, Draft};
use crate::clock::write_time;
use crate::keys::Letters;
use crate::pieces::BRIEF;
use crate::program::{Draw, Source, Span, Statement, TIME_TEXT};

impl Turn<'_> {
    /// Notes the wall clock, seconds since 1970, for all rows of a statement.
    #[inline]
    pub(super) fn tell_time(&mut self, seconds: u64) {
        if seconds != self.time.1 {
            self.time.1 = seconds;
            if let Some(text) = self.time.0.first_chunk_mut() {
                write_time(seconds, text);
            }
        }
    }

    /// Gives the values of all slots to the client.
    #[inline(never)]
    pub(super) fn arguments<C: Client>(&mut self, client: &mut C, statement: &Statement) {
        if !client.compose(|draft| self.compose(draft, statement)) {
            self.give(client, statement);
        }
    }

    /// Writes the values of all slots into a text.
    fn compose(&mut self, draft: &mut Draft<'_>, statement: &Statement) {
        let program = self.program;
        let slots = statement.slots.of(&program.slots);
        // In registers for as long as the values are those of a multi-row INSERT.
        let mut random = self.random.clone();
        let mut letters = Letters::default();
        for _ in 0..statement.rows {
            if statement.row_draws.start < statement.row_draws.end {
                self.random = random;
                self.draw(statement.row_draws);
                random = self.random.clone();
            }
            for slot in slots {
                for place in 0..slot.count {
                    match slot.source {
                        Source::Uniform { low, span } => {
                            draft.integer(low.wrapping_add(random.below(span) as i64));
                        }
                        Source::Now => draft.brief(&self.time.0, TIME_TEXT.len()),
                        Source::Filler(filler) => {
                            let filler = &program.fillers[usize::from(filler)];
                            match filler.cut_brief(&mut random, &mut letters) {
                                Some(parts) => draft.two_brief(parts),
                                None => {
                                    let (plain, varied) = filler.cut(&mut random, &mut letters);
                                    draft.varying(plain, varied);
                                }
                            }
                        }
                        Source::Text(template) => {
                            let template = &program.templates[usize::from(template)];
                            draft.filled(template.text(), |text| template.fill(&mut random, text));
                        }
                        Source::TextRegister { index, .. } => {
                            draft.text(&self.texts[usize::from(index)]);
                        }
                        Source::Decimal(decimal) => {
                            let decimal = &program.decimals[usize::from(decimal)];
                            let sum = decimal.sum(&self.registers);
                            draft.text(decimal.write(sum, &mut self.decimal));
                        }
                        source => {
                            self.random = random;
                            draft.integer(self.other_integer(source, place));
                            random = self.random.clone();
                        }
                    }
                }
            }
        }
        self.random = random;
    }

    /// Gives the values of all slots one by one.
    fn give<C: Client>(&mut self, client: &mut C, statement: &Statement) {
        let program = self.program;
        for _ in 0..statement.rows {
            self.draw(statement.row_draws);
            for slot in statement.slots.of(&program.slots) {
                match slot.source {
                    Source::Text(template) => {
                        let template = &program.templates[usize::from(template)];
                        for _ in 0..slot.count {
                            template.fill(&mut self.random, client.text(template.text()));
                        }
                    }
                    Source::TextRegister { index, template } => {
                        let template = &program.templates[usize::from(template)];
                        let text = &self.texts[usize::from(index)];
                        for _ in 0..slot.count {
                            client.text(template.text()).copy_from_slice(text);
                        }
                    }
                    Source::Now => {
                        for _ in 0..slot.count {
                            client.text(TIME_TEXT).copy_from_slice(&self.time.0[..TIME_TEXT.len()]);
                        }
                    }
                    Source::Filler(filler) => {
                        let filler = &program.fillers[usize::from(filler)];
                        for _ in 0..slot.count {
                            let mut letters = Letters::default();
                            let (plain, varied) = filler.cut(&mut self.random, &mut letters);
                            client.varying(plain, varied);
                        }
                    }
                    Source::Decimal(decimal) => {
                        let decimal = &program.decimals[usize::from(decimal)];
                        let sum = decimal.sum(&self.registers);
                        for _ in 0..slot.count {
                            client.varying(decimal.write(sum, &mut self.decimal), &[]);
                        }
                    }
                    source => {
                        for place in 0..slot.count {
                            client.integer(self.integer(&source, place));
                        }
                    }
                }
            }
        }
    }

    /// Makes named draws. Most operations have none, and should not pay for a call.
    #[inline(always)]
    pub(super) fn draw(&mut self, draws: Span) {
        if draws.start < draws.end {
            self.draw_all(draws);
        }
    }

    #[inline(never)]
    fn draw_all(&mut self, draws: Span) {
        let program = self.program;
        for Draw { source, register } in draws.of(&program.draws) {
            let register = usize::from(*register);
            match source {
                Source::Text(template) => {
                    let template = &program.templates[usize::from(*template)];
                    self.texts[register].copy_from_slice(template.text());
                    template.fill(&mut self.random, &mut self.texts[register]);
                }
                Source::TextRegister { index, .. } => {
                    let text = std::mem::take(&mut self.texts[usize::from(*index)]);
                    self.texts[register].copy_from_slice(&text);
                    self.texts[usize::from(*index)] = text;
                }
                source => self.registers[register] = self.integer(source, 0),
            }
        }
    }

    /// The next value of an integer source at a place of its list.
    #[inline(always)]
    pub(super) fn integer(&mut self, source: &Source, place: u32) -> i64 {
        match source {
            Source::Uniform { low, span } => low.wrapping_add(self.random.below(*span) as i64),
            source => self.other_integer(*source, place),
        }
    }

    /// The sources that are rarer than uniform ones; apart, to keep the usual path short.
    #[inline(never)]
    fn other_integer(&mut self, source: Source, place: u32) -> i64 {
        match source {
            Source::Zipf(at) => self.program.zipfs[usize::from(at)].draw(&mut self.random),
            Source::Ascending(first) => first.wrapping_add(i64::from(place)),
            Source::Sequence(at) => {
                let at = usize::from(at);
                let executed = self.sequences[at];
                self.sequences[at] += 1;
                let distance = self.index.wrapping_add(self.clients.wrapping_mul(executed));
                self.program.sequences[at].first.wrapping_add(distance as i64)
            }
            Source::Register { index, plus } => {
                self.registers[usize::from(index)].wrapping_add(plus)
            }
            Source::Kept { index, plus } => self.guide.kept.get(index).wrapping_add(plus),
            Source::Between { low, high } => {
                let (low, high) = (self.guide.kept.get(low), self.guide.kept.get(high));
                match high.checked_sub(low) {
                    Some(span @ 1..) => low + self.random.below(span as u64) as i64,
                    _ => low,
                }
            }
            // The first has its own place; texts are never asked for as integers: the program tells
            // them apart.
            Source::Uniform { .. }
            | Source::Text(_)
            | Source::TextRegister { .. }
            | Source::Now
            | Source::Filler(_)
            | Source::Decimal(_) => 0,
        }
    }
}

/// A text at the start of some bytes, from which it can be copied at once.
pub(super) fn brief<const N: usize>(text: &[u8; N]) -> [u8; BRIEF] {
    let mut bytes = [0; BRIEF];
    bytes[..N].copy_from_slice(text);
    bytes
}
