//! Recall and contexts, compared with the floor of recall.

use std::{collections::BTreeMap, fmt};

use memory_contract::proto::{
    BuildContextRequest, MemoryMode, MemoryPolicy, Part, ProviderFormat, RecallRequest,
    RecallScope, part,
};
use memory_index::IndexConfig;
use serde::Serialize;

use super::{
    floor::{Floor, PARTS},
    rounds::Rounds,
};
use crate::{
    Failure,
    blocks::{self, Call, Figures, Series},
    clients::Clients,
    progress,
    questions::Questions,
    random::Random,
    service::Service,
    stages::StageFigures,
    stats::Spread,
};

/// The system prompt of a context.
const SYSTEM_PROMPT: &str = "You answer with what you know of the people you talk to.";
/// Callers of the calls at a fixed rate.
const CALLERS_AT_RATE: usize = 16;

/// Throughput and latency of recall, of contexts, and of recall's indispensable parts.
#[derive(Serialize)]
pub struct RecallFigures {
    /// Medians of recall with one caller to those of the floor's sum.
    pub p50_ratio_to_floor: Option<Spread>,
    /// Medians of HYBRID contexts with one caller to those of recall.
    pub context_p50_ratio_to_recall: Spread,
    /// By number of callers.
    pub recall: BTreeMap<usize, Figures>,
    pub context_hybrid: BTreeMap<usize, Figures>,
    /// The newest messages alone, with one caller.
    pub context_window: Figures,
    /// Calls per second of the arrivals at a fixed rate.
    pub rate: u32,
    /// Latencies from the time that each call was due.
    pub recall_at_rate: Figures,
    pub context_hybrid_at_rate: Figures,
    /// The sum of the parts of each question.
    pub floor: Option<Figures>,
    pub floor_parts: BTreeMap<&'static str, Figures>,
    /// The stages of recall in the server, by number of callers.
    pub stages: BTreeMap<usize, Vec<StageFigures>>,
}

/// A kind of call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Recall,
    Hybrid,
    Window,
}

/// A kind of block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Floor,
    Part(&'static str),
    Callers(What, usize),
    AtRate(What),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Recall => "recalling",
            Self::Hybrid => "building HYBRID contexts",
            Self::Window => "building WINDOW contexts",
        })
    }
}

/// Measures in blocks, in another random order in each round. No two calls of the run ask
/// the same question.
pub async fn measure(
    service: &Service,
    index: Option<&IndexConfig>,
    app: &str,
    questions: &Questions,
    (callers, rate): (&[usize], u32),
    rounds: &Rounds,
    random: &mut Random,
) -> Result<RecallFigures, Failure> {
    let floor = match (index, &service.database_url) {
        (Some(index), Some(url)) => Some(Floor::open(index, url, app).await?),
        _ => None,
    };
    let meter = service.meter();
    let mut kinds = vec![Kind::Callers(What::Window, 1)];
    for what in [What::Recall, What::Hybrid] {
        kinds.push(Kind::AtRate(what));
        // One caller is always measured: the ratios are of it.
        let others = callers.iter().filter(|&&callers| callers != 1);
        kinds.extend(
            [&1].into_iter()
                .chain(others)
                .map(|&n| Kind::Callers(what, n)),
        );
    }
    let mut askers = BTreeMap::new();
    for &kind in &kinds {
        if let Kind::Callers(what, number) = kind {
            askers.insert(kind, connect(service, number, what, questions).await?);
        } else if let Kind::AtRate(what) = kind {
            askers.insert(
                kind,
                connect(service, CALLERS_AT_RATE, what, questions).await?,
            );
        }
    }
    if floor.is_some() {
        kinds.push(Kind::Floor);
    }
    let mut series = AllSeries::default();
    for _ in 0..rounds.count {
        random.shuffle(&mut kinds);
        for &kind in &kinds {
            service.drained().await?;
            let block = match (kind, &floor) {
                (Kind::Callers(what, _), _) => {
                    let step = progress::step(what.to_string());
                    let block = blocks::closed(&meter, &askers[&kind], rounds.block).await?;
                    step.finish_and_clear();
                    block
                }
                (Kind::AtRate(what), _) => {
                    let step = progress::step(what.to_string());
                    let block = blocks::open(&meter, &askers[&kind], rate, rounds.block).await?;
                    step.finish_and_clear();
                    block
                }
                (Kind::Floor | Kind::Part(_), Some(floor)) => {
                    let block = floor.block(questions, rounds.block).await?;
                    for (name, part) in PARTS.into_iter().zip(&block.parts) {
                        series.of(Kind::Part(name))?.add(part)?;
                    }
                    block.sum
                }
                (Kind::Floor | Kind::Part(_), None) => continue,
            };
            series.of(kind)?.add(&block)?;
        }
    }
    if let Some(floor) = &floor {
        floor.close().await;
    }
    series.measured(rate)
}

/// The blocks of all rounds.
#[derive(Default)]
struct AllSeries(BTreeMap<Kind, Series>);

impl AllSeries {
    fn of(&mut self, kind: Kind) -> Result<&mut Series, Failure> {
        match self.0.entry(kind) {
            std::collections::btree_map::Entry::Occupied(found) => Ok(found.into_mut()),
            std::collections::btree_map::Entry::Vacant(place) => Ok(place.insert(Series::new()?)),
        }
    }

    fn measured(&self, rate: u32) -> Result<RecallFigures, Failure> {
        let get = |kind: Kind| self.0.get(&kind).ok_or("no rounds");
        let recall = get(Kind::Callers(What::Recall, 1))?;
        let hybrid = get(Kind::Callers(What::Hybrid, 1))?;
        let floor = self.0.get(&Kind::Floor);
        let by_callers = |wanted: What| {
            let all = self.0.iter();
            let all = all.filter_map(move |(kind, series)| match kind {
                Kind::Callers(what, callers) if *what == wanted => {
                    Some((*callers, series.figures()))
                }
                _ => None,
            });
            all.collect()
        };
        let stages = self.0.iter().filter_map(|(kind, series)| match kind {
            Kind::Callers(What::Recall, callers) => Some((*callers, series.stages())),
            _ => None,
        });
        let parts = PARTS.into_iter().filter_map(|name| {
            let series = self.0.get(&Kind::Part(name))?;
            Some((name, series.figures()))
        });
        Ok(RecallFigures {
            p50_ratio_to_floor: floor.map(|floor| Spread::of_ratios(recall.p50s(), floor.p50s())),
            context_p50_ratio_to_recall: Spread::of_ratios(hybrid.p50s(), recall.p50s()),
            recall: by_callers(What::Recall),
            context_hybrid: by_callers(What::Hybrid),
            context_window: get(Kind::Callers(What::Window, 1))?.figures(),
            rate,
            recall_at_rate: get(Kind::AtRate(What::Recall))?.figures(),
            context_hybrid_at_rate: get(Kind::AtRate(What::Hybrid))?.figures(),
            floor: floor.map(Series::figures),
            floor_parts: parts.collect(),
            stages: stages.collect(),
        })
    }
}

async fn connect(
    service: &Service,
    callers: usize,
    what: What,
    questions: &Questions,
) -> Result<Vec<Asker>, Failure> {
    let connected = service.callers(callers).await?.into_iter();
    let askers = connected.map(|clients| Asker {
        clients,
        what,
        questions: questions.clone(),
    });
    Ok(askers.collect())
}

#[derive(Clone)]
struct Asker {
    clients: Clients,
    what: What,
    questions: Questions,
}

impl Call for Asker {
    async fn call(&mut self) -> Result<(), Failure> {
        let asked = self.questions.next();
        let mode = match self.what {
            What::Recall => return recall(&mut self.clients, &asked.thread, asked.question).await,
            What::Hybrid => MemoryMode::Hybrid,
            What::Window => MemoryMode::Window,
        };
        let request = BuildContextRequest {
            thread: Some(asked.thread.into()),
            system_prompt: SYSTEM_PROMPT.to_owned(),
            input: vec![Part {
                content: Some(part::Content::Text(asked.question)),
                ..Default::default()
            }],
            policy: Some(MemoryPolicy {
                mode: mode.into(),
                scope: RecallScope::User.into(),
                ..Default::default()
            }),
            formats: vec![ProviderFormat::OpenaiChat.into()],
            ..Default::default()
        };
        let context = self.clients.contexts.build_context(request).await?;
        match context.into_inner().degradations.first() {
            Some(degradation) => Err(format!("context: {}", degradation.message).into()),
            None => Ok(()),
        }
    }
}

/// Recalls from all threads of the user, and checks that nothing was left out.
pub async fn recall(clients: &mut Clients, thread: &str, query: String) -> Result<(), Failure> {
    let request = RecallRequest {
        target: Some(thread.to_owned().into()),
        query,
        policy: Some(MemoryPolicy {
            scope: RecallScope::User.into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let response = clients.recall.recall(request).await?.into_inner();
    match response.degradations.first() {
        Some(degradation) => Err(format!("recall was degraded: {}", degradation.message).into()),
        None => Ok(()),
    }
}
