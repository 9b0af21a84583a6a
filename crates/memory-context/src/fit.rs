//! Fits lines into a budget of tokens and bytes.
//!
//! A [`Sheet`] is filled in the order of importance: what fits is written and stays, and
//! what does not is refused. Where a line is written decides where it stands, so the
//! order of importance and the order of the text are independent.

use std::collections::BTreeMap;

use memory_budget::{Size, Tokenizer};

/// The text around the lines of a sheet.
pub(crate) trait Layout {
    /// The sections, in the order of the text.
    type Section: Copy + Ord;

    /// The text above all sections.
    fn title(&self) -> String;

    /// The text above the lines of a section; `first` for the section that stands
    /// first.
    fn opening(&self, section: Self::Section, first: bool) -> String;

    /// Completes the text after the last line, each of which ends in a line break. It
    /// may only shorten the text.
    fn finish(&self, _text: &mut String) {}
}

/// A line and its place within its section.
pub(crate) type Line = (usize, String);

/// Sections of lines below a title, within a limit.
pub(crate) struct Sheet<L: Layout> {
    layout: L,
    tokenizer: Tokenizer,
    limit: Size,
    sections: BTreeMap<L::Section, BTreeMap<usize, String>>,
    size: Size,
    /// What was written, the newest last, with what it replaced.
    written: Vec<Written<L::Section>>,
}

struct Written<S> {
    section: S,
    before: Vec<(usize, Option<String>)>,
    tokens: i32,
}

/// The text of a sheet.
#[derive(Clone, Debug)]
pub(crate) struct Finished<S> {
    pub(crate) text: String,
    pub(crate) tokens: i32,
    /// The lines by section and place, in the order of the text.
    pub(crate) lines: BTreeMap<(S, usize), String>,
    /// Whether lines that were written have been removed again.
    pub(crate) shortened: bool,
}

impl<L: Layout> Sheet<L> {
    /// A sheet with its title alone, even where that is larger than the limit.
    pub(crate) fn new(layout: L, tokenizer: Tokenizer, limit: Size) -> Self {
        Self {
            size: Size::of(&layout.title(), tokenizer),
            layout,
            tokenizer,
            limit,
            sections: BTreeMap::new(),
            written: Vec::new(),
        }
    }

    /// The size so far: the sum of its lines, which is close to that of the text.
    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// The unused part of the limit.
    pub(crate) fn room(&self) -> Size {
        self.limit.minus(self.size)
    }

    /// Whether no further line fits.
    pub(crate) fn is_full(&self) -> bool {
        let room = self.room();
        room.tokens <= 0 || room.bytes == 0
    }

    /// Writes lines, all of them or none. A line replaces the one at its place.
    /// Returns whether they fit.
    pub(crate) fn write(&mut self, section: L::Section, lines: Vec<Line>) -> bool {
        if self.is_full() {
            return false;
        }
        let needed = self.needed(section, &lines);
        let size = self.size.plus(needed);
        if !size.fits(self.limit) {
            return false;
        }
        self.size = size;
        let of_section = self.sections.entry(section).or_default();
        let before = lines
            .into_iter()
            .map(|(place, line)| (place, of_section.insert(place, line)))
            .collect();
        self.written.push(Written {
            section,
            before,
            tokens: needed.tokens,
        });
        true
    }

    /// What lines would add to the size, with the opening if they are the first of
    /// their section.
    pub(crate) fn needed(&self, section: L::Section, lines: &[Line]) -> Size {
        let mut needed = Size::default();
        if self.sections.get(&section).is_none_or(BTreeMap::is_empty) {
            let first = self.sections.values().all(BTreeMap::is_empty);
            needed = Size::of(&self.layout.opening(section, first), self.tokenizer);
        }
        // A line of JSON begins with a brace, so no token spans its beginning.
        let size = |line: &str| Size::of(&format!("{line}\n"), self.tokenizer);
        for (place, line) in lines {
            needed = needed.plus(size(line));
            if let Some(replaced) = self.line(section, *place) {
                needed = needed.minus(size(replaced));
            }
        }
        needed
    }

    /// The text. Lines are counted one by one while they are written, and here the text
    /// as a whole: the newest lines are removed until it fits.
    pub(crate) fn finish(mut self) -> Finished<L::Section> {
        let mut shortened = false;
        loop {
            let text = self.text();
            let tokens = self.tokenizer.recount(&text);
            let mut over = tokens - self.limit.tokens;
            if over <= 0 || self.written.is_empty() {
                let of_section = |(section, lines): (L::Section, BTreeMap<usize, String>)| {
                    let lines = lines.into_iter();
                    lines.map(move |(place, line)| ((section, place), line))
                };
                return Finished {
                    text,
                    tokens,
                    lines: self.sections.into_iter().flat_map(of_section).collect(),
                    shortened,
                };
            }
            shortened = true;
            while over > 0
                && let Some(last) = self.written.pop()
            {
                over -= last.tokens.max(1);
                let of_section = self.sections.entry(last.section).or_default();
                for (place, line) in last.before {
                    match line {
                        Some(line) => of_section.insert(place, line),
                        None => of_section.remove(&place),
                    };
                }
            }
        }
    }

    fn line(&self, section: L::Section, place: usize) -> Option<&String> {
        self.sections.get(&section)?.get(&place)
    }

    fn text(&self) -> String {
        let mut text = self.layout.title();
        let filled = self.sections.iter().filter(|(_, lines)| !lines.is_empty());
        for (index, (section, lines)) in filled.enumerate() {
            text.push_str(&self.layout.opening(*section, index == 0));
            for line in lines.values() {
                text.push_str(line);
                text.push('\n');
            }
        }
        self.layout.finish(&mut text);
        text
    }
}
