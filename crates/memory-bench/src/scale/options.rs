//! The options of `memory-bench scale`.

use std::path::PathBuf;

use clap::Args;

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Messages, ascending: 10k, 100k, 1M. The service grows from each size to the next.
    #[arg(long, value_delimiter = ',', default_values_t = [Size(10_000), Size(100_000), Size(1_000_000)])]
    pub(super) sizes: Vec<Size>,
    /// Tenants, with shares by Zipf's law.
    #[arg(long, default_value_t = 1_000)]
    pub(super) tenants: usize,
    /// Embed every message with the default model, instead of generating vectors. At about
    /// 200 messages a second.
    #[arg(long)]
    pub(super) embed: bool,
    /// Keep the data in this directory, which only this command writes to. The same command goes on
    /// where a run that was interrupted stopped, and does not measure a size again. Go on within two
    /// days of the first import of a size: for so long the service knows which messages it has.
    /// Default: a temporary directory.
    #[arg(long)]
    pub(super) data_dir: Option<PathBuf>,
    /// After the largest size, also measure recall's quality on these directories of
    /// conversations, as `memory-bench quality` does, in a tenant of their own. Not measured again
    /// for a size that is finished.
    #[arg(long, num_args = 1..)]
    pub(super) quality: Vec<PathBuf>,
    /// Ask at most so many questions of each conversation and category of --quality.
    #[arg(long)]
    pub(super) sample: Option<usize>,
    /// Rounds, each with one block of each kind in random order.
    #[arg(long, default_value_t = 5)]
    pub(super) rounds: usize,
    /// Seconds of a block.
    #[arg(long, default_value_t = 3)]
    pub(super) seconds: u64,
    /// Seed of the order of blocks and of the questions.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
}

/// A number of messages, such as 10k or 1M.
#[derive(Clone, Copy)]
pub(super) struct Size(pub(super) usize);

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, unit) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1_000),
            None => match text.strip_suffix(['m', 'M']) {
                Some(digits) => (digits, 1_000_000),
                None => (text, 1),
            },
        };
        let number: usize = digits
            .parse()
            .map_err(|_| format!("\"{text}\" is not a number such as 10000, 10k or 1M"))?;
        Ok(Self(number * unit))
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            size if size > 0 && size.is_multiple_of(1_000_000) => {
                write!(f, "{}M", size / 1_000_000)
            }
            size if size > 0 && size.is_multiple_of(1_000) => write!(f, "{}k", size / 1_000),
            size => write!(f, "{size}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_short() {
        for (text, number) in [("10k", 10_000), ("1M", 1_000_000), ("1500", 1_500)] {
            let size: Size = text.parse().unwrap();
            assert_eq!(size.0, number);
            assert_eq!(size.to_string(), text);
        }
        assert!("ten".parse::<Size>().is_err());
    }
}
