//! The stages of a recall, as the server times them.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{
    metrics::{Metrics, Taken},
    statements::Statements,
    stats::{Spread, rounded},
};

/// A stage: its name, its histogram, and the label of that.
type Stage = (&'static str, &'static str, &'static str);

/// The stages, the whole call first. Those further to the right are a part of the one above.
const STAGES: [Stage; 6] = [
    ("call", "recollect_rpc_seconds", "method=\"Recall\""),
    (
        "  search",
        "recollect_recall_stage_seconds",
        "stage=\"search\"",
    ),
    ("    embedding", "recollect_embed_seconds", "kind=\"query\""),
    ("    index", "recollect_index_search_seconds", ""),
    (
        "  ranking",
        "recollect_recall_stage_seconds",
        "stage=\"rank\"",
    ),
    (
        "  reading matches",
        "recollect_recall_stage_seconds",
        "stage=\"read\"",
    ),
];

/// How often each stage was timed, and how long it took.
#[derive(Clone, Default)]
pub struct StageTimes {
    stages: [Taken; STAGES.len()],
    /// Those that the log has.
    pub statements: Statements,
}

impl StageTimes {
    /// Those of a server so far, without statements.
    pub fn of(metrics: &Metrics) -> Self {
        let taken = |(_, histogram, label): Stage| metrics.histogram(histogram, label);
        Self {
            stages: STAGES.map(taken),
            statements: Statements::new(),
        }
    }

    /// What was added since an earlier moment.
    pub fn since(mut self, before: &Self) -> Self {
        for (now, before) in self.stages.iter_mut().zip(before.stages) {
            *now = now.since(before);
        }
        self
    }

    fn calls(&self) -> f64 {
        self.stages[0].count
    }

    fn statement(&self, name: &str) -> Taken {
        self.statements.get(name).copied().unwrap_or_default()
    }
}

/// The time of one stage, or of one statement of Postgres.
#[derive(Clone, Debug, Serialize)]
pub struct StageFigures {
    /// The stage; spaces before it say of which one above it is a part.
    pub stage: String,
    /// How often a call has it.
    pub times: f64,
    /// Mean milliseconds of it in a call, over rounds.
    pub mean_ms: Spread,
}

/// The mean time of each stage and each statement that was timed, for each call that the server
/// counted. Nothing without calls.
pub fn stage_figures(rounds: &[StageTimes]) -> Vec<StageFigures> {
    let rounds: Vec<&StageTimes> = rounds.iter().filter(|it| it.calls() > 0.0).collect();
    let calls: f64 = rounds.iter().map(|round| round.calls()).sum();
    let figures = |stage: &str, taken: &dyn Fn(&StageTimes) -> Taken| {
        let times: f64 = rounds.iter().map(|round| taken(round).count).sum();
        let means = rounds.iter();
        let means = means.map(|round| taken(round).sum * 1_000.0 / round.calls());
        StageFigures {
            stage: stage.to_owned(),
            times: rounded(times / calls.max(1.0), 2),
            mean_ms: Spread::of(&means.collect::<Vec<_>>(), 2),
        }
    };
    let stages = STAGES.iter().enumerate();
    let stages = stages.map(|(place, (stage, ..))| figures(stage, &|round| round.stages[place]));
    let names: BTreeSet<&String> = rounds.iter().flat_map(|it| it.statements.keys()).collect();
    let statements = names.into_iter();
    let statements = statements.map(|name| figures(name, &|round| round.statement(name)));
    let all = stages.chain(statements);
    all.filter(|figures| figures.times > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_divided_by_the_calls() {
        let mut round = StageTimes::default();
        let taken = |count, sum| Taken { count, sum };
        round.stages[0] = taken(10.0, 0.1);
        round.stages[3] = taken(20.0, 0.04);
        let recent = ("messages/recent".to_owned(), taken(10.0, 0.01));
        round.statements = [recent].into();
        let figures = stage_figures(&[round, StageTimes::default()]);
        let shown: Vec<String> = figures
            .iter()
            .map(|it| format!("{} {} {}", it.stage, it.times, it.mean_ms.median))
            .collect();
        assert_eq!(shown, ["call 1 10", "    index 2 4", "messages/recent 1 1"]);
        assert!(stage_figures(&[]).is_empty());
    }
}
