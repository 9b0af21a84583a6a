//! Flags of the times of memories and messages.

use clap::Args;
use memory_contract::proto::{MessageFilter, QueryTime};
use prost_types::Timestamp;

/// The times of memories.
#[derive(Debug, Clone, Args)]
pub struct TimesArgs {
    /// Only memories that were true at this time, such as `2026-03-01T09:00:00Z`, including
    /// those superseded since.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub as_of: Option<Timestamp>,
    /// Only memories that were believed at this time, including those superseded since. With
    /// --as-of: those then believed to have been true at that time.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub known_at: Option<Timestamp>,
}

/// The times of messages.
#[derive(Debug, Clone, Args)]
pub struct SaidArgs {
    /// Only matches said at this time or later, such as `2026-03-01T09:00:00+01:00`; a date
    /// alone is its midnight in UTC.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub start: Option<Timestamp>,
    /// Only matches said before this time.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub end: Option<Timestamp>,
    /// The time zone of times in the question such as "yesterday", for example Europe/Berlin.
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    pub time_zone: String,
}

impl SaidArgs {
    /// The messages that may match; `None` for those of any time.
    pub fn filter(&self) -> Option<MessageFilter> {
        let is_set = self.start.is_some() || self.end.is_some();
        is_set.then(|| MessageFilter {
            start_time: self.start,
            end_time: self.end,
            ..Default::default()
        })
    }

    /// When and where the question is asked: now, in the time zone.
    pub fn query_time(self) -> QueryTime {
        QueryTime {
            time_zone: self.time_zone,
            ..Default::default()
        }
    }
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|_| "must be a time such as 2026-03-01T09:00:00Z".to_owned())
}
