//! The values of a connection's statements: drawn, remembered, kept.

use super::{Declared, Member};
use crate::clock::write_time;
use crate::program::{Draw, Source, Span, Statement, TIME_TEXT};
use crate::wire::{Client, Draft};
use values::{
    Random,
    generator::{BRIEF, Letters},
};

impl Declared<'_> {
    /// Notes the wall clock, seconds since 1970, for all rows of a statement.
    #[inline]
    pub(super) fn tell_time(&mut self, seconds: u64) {
        if seconds != self.second {
            self.second = seconds;
            if let Some(text) = self.time.first_chunk_mut() {
                write_time(seconds, text);
            }
        }
    }

    /// Gives the values of all slots to the client.
    #[inline(never)]
    pub(super) fn arguments<C: Client>(
        &mut self,
        client: &mut C,
        statement: &Statement,
        random: &mut Random,
    ) {
        if !client.compose(|draft| self.compose(draft, statement, random)) {
            self.give(client, statement, random);
        }
    }

    /// Writes the values of all slots into a text.
    fn compose(&mut self, draft: &mut Draft<'_>, statement: &Statement, shared: &mut Random) {
        let program = self.program;
        let slots = statement.slots.of(&program.slots);
        // In registers for as long as the values are those of a multi-row INSERT.
        let mut random = shared.clone();
        let mut letters = Letters::default();
        for _ in 0..statement.rows {
            if statement.row_draws.start < statement.row_draws.end {
                *shared = random;
                self.draw_named(statement.row_draws, shared);
                random = shared.clone();
            }
            for slot in slots {
                for place in 0..slot.count {
                    match slot.source {
                        Source::Uniform { low, span } => {
                            draft.integer(low.wrapping_add(random.below(span) as i64));
                        }
                        Source::Now => draft.brief(&self.time, TIME_TEXT.len()),
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
                        Source::Varying(_) | Source::Decimal(_) => {
                            *shared = random;
                            draft.text(self.other_text(slot.source, shared));
                            random = shared.clone();
                        }
                        source => {
                            *shared = random;
                            draft.integer(self.other_integer(source, place, shared));
                            random = shared.clone();
                        }
                    }
                }
            }
        }
        *shared = random;
    }

    /// Gives the values of all slots one by one.
    fn give<C: Client>(&mut self, client: &mut C, statement: &Statement, random: &mut Random) {
        let program = self.program;
        for _ in 0..statement.rows {
            self.draw_named(statement.row_draws, random);
            for slot in statement.slots.of(&program.slots) {
                match slot.source {
                    Source::Text(template) => {
                        let template = &program.templates[usize::from(template)];
                        for _ in 0..slot.count {
                            template.fill(random, client.text(template.text()));
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
                            client.text(TIME_TEXT).copy_from_slice(&self.time[..TIME_TEXT.len()]);
                        }
                    }
                    Source::Filler(filler) => {
                        let filler = &program.fillers[usize::from(filler)];
                        for _ in 0..slot.count {
                            let mut letters = Letters::default();
                            let (plain, varied) = filler.cut(random, &mut letters);
                            client.varying(plain, varied);
                        }
                    }
                    Source::Varying(_) | Source::Decimal(_) => {
                        for _ in 0..slot.count {
                            client.varying(self.other_text(slot.source, random), &[]);
                        }
                    }
                    source => {
                        for place in 0..slot.count {
                            client.integer(self.integer(&source, place, random));
                        }
                    }
                }
            }
        }
    }

    /// The texts of varying length that are rarer than fillers; apart, for the same reason.
    #[inline(never)]
    fn other_text(&mut self, source: Source, random: &mut Random) -> &[u8] {
        match source {
            Source::Decimal(at) => {
                let decimal = &self.program.decimals[usize::from(at)];
                let sum = decimal.sum(&self.registers);
                decimal.write(sum, &mut self.decimal)
            }
            Source::Varying(at) => {
                self.text.clear();
                self.program.texts[usize::from(at)].draw(random, &mut self.text);
                &self.text
            }
            _ => &[],
        }
    }

    /// Makes named draws. Most operations have none, and should not pay for a call.
    #[inline(always)]
    pub(super) fn draw_named(&mut self, draws: Span, random: &mut Random) {
        if draws.start < draws.end {
            self.draw_all(draws, random);
        }
    }

    #[inline(never)]
    fn draw_all(&mut self, draws: Span, random: &mut Random) {
        let program = self.program;
        for Draw { source, register } in draws.of(&program.draws) {
            let register = usize::from(*register);
            match source {
                Source::Text(template) => {
                    let template = &program.templates[usize::from(*template)];
                    self.texts[register].copy_from_slice(template.text());
                    template.fill(random, &mut self.texts[register]);
                }
                Source::TextRegister { index, .. } => {
                    let text = std::mem::take(&mut self.texts[usize::from(*index)]);
                    self.texts[register].copy_from_slice(&text);
                    self.texts[usize::from(*index)] = text;
                }
                source => self.registers[register] = self.integer(source, 0, random),
            }
        }
    }

    /// The next value of an integer source at a place of its list.
    #[inline(always)]
    pub(super) fn integer(&mut self, source: &Source, place: u32, random: &mut Random) -> i64 {
        match source {
            Source::Uniform { low, span } => low.wrapping_add(random.below(*span) as i64),
            source => self.other_integer(*source, place, random),
        }
    }

    /// The sources that are rarer than uniform ones; apart, to keep the usual path short.
    #[inline(never)]
    fn other_integer(&mut self, source: Source, place: u32, random: &mut Random) -> i64 {
        match source {
            Source::Integer(at) => self.program.integers[usize::from(at)].draw(random),
            Source::Fixed(value) => value,
            Source::Ascending(first) => first.wrapping_add(i64::from(place)),
            Source::Sequence(at) => {
                let at = usize::from(at);
                let executed = self.sequences[at];
                self.sequences[at] += 1;
                let sequence = &self.program.sequences[at];
                let Member { index, clients } = sequence.among(self.member);
                let distance = u64::from(clients).wrapping_mul(executed);
                let distance = distance.wrapping_add(u64::from(index));
                sequence.first.wrapping_add(distance as i64)
            }
            Source::Register { index, plus } => {
                self.registers[usize::from(index)].wrapping_add(plus)
            }
            Source::Kept { index, plus } => self.kept.get(index).wrapping_add(plus),
            Source::Between { low, high } => {
                let (low, high) = (self.kept.get(low), self.kept.get(high));
                match high.checked_sub(low) {
                    Some(span @ 1..) => low + random.below(span as u64) as i64,
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
            | Source::Varying(_)
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
