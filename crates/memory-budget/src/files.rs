//! Tokens of files: of images by the formulas that providers publish, of other files by
//! estimates. `docs/files.md` has the table.

use memory_contract::{
    file::{FileExtent, FileRef, FileType},
    message::{Content, Part, ToolOutput},
};

/// Width and height of an image of unknown size, in pixels.
const ASSUMED_PIXELS: u32 = 1_024;
/// Seconds of a recording or video of unknown length.
const ASSUMED_SECONDS: u64 = 30;
/// Pages of a document of unknown length.
const ASSUMED_PAGES: u64 = 1;
/// Tokens of the words that describe a file which the provider does not take, besides
/// caption and name: `[video]`.
pub(crate) const DESCRIBED: i32 = 3;

/// How the provider of a model counts files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FileRates {
    /// OpenAI's models that see squares of 512 pixels: tokens of an image, and of each
    /// square.
    Tiles {
        /// Tokens of an image in low detail, and of the overview of one in high detail.
        base: u16,
        /// Tokens of a square.
        tile: u16,
    },
    /// OpenAI's models that see squares of 32 pixels: hundredths of a token for each square.
    Patches(u16),
    /// Anthropic's models.
    Anthropic,
    /// Gemini.
    Gemini,
}

/// The rates of GPT-4o, which stored counts use.
pub(crate) const STORED_RATES: FileRates = FileRates::Tiles {
    base: 85,
    tile: 170,
};

/// Models by the beginning of their names; the longest one counts.
const RATES: &[(&str, FileRates)] = &[
    ("gpt-4o-mini", tiles(2_833, 5_667)),
    ("gpt-4.1-mini", FileRates::Patches(162)),
    ("gpt-4.1-nano", FileRates::Patches(246)),
    ("gpt-5", tiles(70, 140)),
    ("gpt-5-mini", FileRates::Patches(162)),
    ("gpt-5-nano", FileRates::Patches(246)),
    ("o1", tiles(75, 150)),
    ("o3", tiles(75, 150)),
    ("o4-mini", FileRates::Patches(172)),
    ("computer-use-preview", tiles(65, 129)),
    ("claude", FileRates::Anthropic),
    ("gemini", FileRates::Gemini),
];

/// A set of kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn with(self, kind: FileType) -> Self {
        Self(self.0 | (1 << kind as u8))
    }

    pub(crate) fn contains(self, kind: FileType) -> bool {
        self.with(kind) == self
    }
}

const fn tiles(base: u16, tile: u16) -> FileRates {
    FileRates::Tiles { base, tile }
}

impl FileRates {
    /// The rates for a model by its bare name; those of stored counts for an unknown one.
    pub(crate) fn of(name: &str) -> Self {
        RATES
            .iter()
            .filter(|(beginning, _)| {
                let rest = name.strip_prefix(beginning);
                rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
            })
            .max_by_key(|(beginning, _)| beginning.len())
            .map_or(STORED_RATES, |(_, rates)| *rates)
    }

    /// The rates of images in low detail, where the provider has them.
    pub(crate) fn in_low_detail(self) -> Self {
        match self {
            Self::Tiles { base, .. } => Self::Tiles { base, tile: 0 },
            Self::Patches(_) | Self::Anthropic | Self::Gemini => self,
        }
    }

    /// Tokens of the content of all files in parts.
    pub(crate) fn of_parts(self, parts: &[Part]) -> i32 {
        let files = parts.iter().flat_map(Part::files);
        files.fold(0, |sum: i32, file| sum.saturating_add(self.of_file(file)))
    }

    /// Tokens of the content of a file: 1 or more.
    pub(crate) fn of_file(self, file: &FileRef) -> i32 {
        let FileExtent {
            width,
            height,
            duration_ms,
            page_count,
        } = file.extent;
        let seconds = match duration_ms {
            0 => ASSUMED_SECONDS,
            milliseconds => u64::from(milliseconds).div_ceil(1_000),
        };
        let pages = match page_count {
            0 => ASSUMED_PAGES,
            pages => u64::from(pages),
        };
        let tokens = match (file.kind, self) {
            (FileType::Image, _) => match (width, height) {
                (0, _) | (_, 0) => self.of_image(ASSUMED_PIXELS, ASSUMED_PIXELS),
                (width, height) => self.of_image(width, height),
            },
            (FileType::Audio, Self::Gemini) => 32 * seconds,
            (FileType::Audio, Self::Tiles { .. } | Self::Patches(_)) => 10 * seconds,
            (FileType::Video, Self::Gemini) => 263 * seconds,
            (FileType::Document, Self::Gemini) => 258 * pages,
            // Between 1,500 and 3,000, Anthropic says.
            (FileType::Document, Self::Anthropic) => 2_250 * pages,
            // The text of a page and its image.
            (FileType::Document, Self::Tiles { .. } | Self::Patches(_)) => 1_000 * pages,
            (FileType::Audio | FileType::Video | FileType::Custom, _) => {
                u64::from(DESCRIBED.unsigned_abs())
            }
        };
        i32::try_from(tokens.max(1)).unwrap_or(i32::MAX)
    }

    /// Tokens of an image.
    fn of_image(self, width: u32, height: u32) -> u64 {
        let (width, height) = (f64::from(width), f64::from(height));
        let (short, long) = (width.min(height), width.max(height));
        let tokens = match self {
            Self::Tiles { base, tile } => {
                // Into a square of 2,048 pixels, then the shorter side to 768.
                let scale = (2_048.0 / long).min(1.0);
                let scale = scale * (768.0 / (short * scale)).min(1.0);
                let tiles = squares(width * scale, height * scale, 512.0);
                f64::from(base) + f64::from(tile) * tiles
            }
            Self::Patches(percent) => {
                let patches = squares(width, height, 32.0).min(1_536.0);
                (patches * f64::from(percent) / 100.0).round()
            }
            Self::Anthropic => {
                let scale = (1_568.0 / long).min(1.0);
                (width * scale * height * scale / 750.0).ceil().min(1_600.0)
            }
            Self::Gemini if long <= 384.0 => 258.0,
            Self::Gemini => {
                let side = (short / 1.5).floor().clamp(256.0, 768.0);
                258.0 * squares(width, height, side)
            }
        };
        // Far below the limits of both types.
        tokens as u64
    }
}

/// The number of squares that cover an area. Rounding errors do not add a square.
fn squares(width: f64, height: f64, side: f64) -> f64 {
    let along = |length: f64| (length / side - 1e-9).ceil().max(1.0);
    along(width) * along(height)
}

/// Whether parts refer to files.
pub(crate) fn has_files(parts: &[Part]) -> bool {
    parts.iter().any(|part| match &part.content {
        Content::File(_) => true,
        Content::ToolResult(result) => {
            let file = |output: &ToolOutput| matches!(output, ToolOutput::File(_));
            result.output.iter().any(file)
        }
        Content::Text(_)
        | Content::Json(_)
        | Content::ToolCall(_)
        | Content::Reasoning(_)
        | Content::Opaque(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use memory_contract::file::FileLocation;

    use super::*;

    fn file(kind: FileType, extent: FileExtent) -> FileRef {
        FileRef {
            kind,
            location: FileLocation::Url("https://example.org/a".into()),
            name: String::new(),
            mime_type: String::new(),
            size_bytes: 0,
            caption: String::new(),
            extent,
        }
    }

    fn image(model: &str, width: u32, height: u32) -> i32 {
        let extent = FileExtent {
            width,
            height,
            ..FileExtent::default()
        };
        FileRates::of(model).of_file(&file(FileType::Image, extent))
    }

    /// The examples in the documentation of the providers.
    #[test]
    fn images_count_as_their_providers_say() {
        for (model, width, height, tokens) in [
            ("gpt-4o", 1_024, 1_024, 765),
            ("gpt-4o", 2_048, 4_096, 1_105),
            ("gpt-4o", 4_096, 8_192, 1_105),
            ("gpt-4o", 512, 512, 255),
            ("gpt-4o-mini", 1_024, 1_024, 2_833 + 4 * 5_667),
            ("gpt-5", 1_024, 1_024, 630),
            ("gpt-4.1-mini", 1_024, 1_024, 1_659),
            ("gpt-4.1-mini", 4_000, 1_474, 2_488),
            ("claude-sonnet-4-5", 200, 200, 54),
            ("claude-sonnet-4-5", 1_000, 1_000, 1_334),
            ("claude-sonnet-4-5", 3_000, 3_000, 1_600),
            ("gemini-2.5-pro", 384, 384, 258),
            ("gemini-2.5-pro", 960, 540, 6 * 258),
            ("gemini-2.5-pro", 540, 960, 6 * 258),
            ("gemini-2.5-pro", 1_024, 1_024, 4 * 258),
            // The side of a tile is at least 256 pixels, and at most 768.
            ("gemini-2.5-pro", 385, 100, 2 * 258),
            ("gemini-2.5-pro", 640, 480, 4 * 258),
            ("gemini-2.5-pro", 1_920, 1_080, 6 * 258),
            ("gemini-2.5-pro", 3_840, 2_160, 15 * 258),
            ("llama-3", 1_024, 1_024, 765),
            ("", 0, 0, 765),
            ("gpt-4o", 0, 500, 765),
            ("gemini-2.5-flash", 0, 0, 1_032),
        ] {
            assert_eq!(
                image(model, width, height),
                tokens,
                "{model} {width}x{height}"
            );
        }
    }

    #[test]
    fn an_image_in_low_detail_counts_its_overview() {
        let extent = FileExtent {
            width: 2_048,
            height: 4_096,
            ..FileExtent::default()
        };
        let low = |model| FileRates::of(model).in_low_detail();
        let image = file(FileType::Image, extent);
        assert_eq!(low("gpt-4o").of_file(&image), 85);
        assert_eq!(low("gpt-5").of_file(&image), 70);
    }

    #[test]
    fn no_file_counts_nothing() {
        for model in ["", "gpt-4.1-nano", "claude-opus-4", "gemini-3-pro"] {
            for kind in FileType::ALL {
                let unknown = file(kind, FileExtent::default());
                assert!(
                    FileRates::of(model).of_file(&unknown) > 0,
                    "{model} {kind:?}"
                );
            }
        }
    }

    #[test]
    fn recordings_count_by_length_and_documents_by_pages() {
        let minute = FileExtent {
            duration_ms: 59_001,
            ..FileExtent::default()
        };
        let seven = FileExtent {
            page_count: 7,
            ..FileExtent::default()
        };
        let unknown = FileExtent::default();
        for (model, kind, extent, tokens) in [
            ("", FileType::Audio, minute, 600),
            ("", FileType::Audio, unknown, 300),
            ("gemini-2.5-pro", FileType::Audio, minute, 60 * 32),
            ("gemini-2.5-pro", FileType::Video, minute, 60 * 263),
            ("gpt-4o", FileType::Video, minute, 3),
            ("", FileType::Document, seven, 7_000),
            ("", FileType::Document, unknown, 1_000),
            ("claude-opus-4", FileType::Document, seven, 7 * 2_250),
            ("gemini-2.5-pro", FileType::Document, seven, 7 * 258),
        ] {
            let counted = FileRates::of(model).of_file(&file(kind, extent));
            assert_eq!(counted, tokens, "{model} {kind:?}");
        }
    }
}
