//! Generated changes and searches: an index finds what a comparison with every point finds.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use fastrand::Rng;
use memory_contract::{
    AppId, TenantId, UserId,
    json::JsonObject,
    message::{MessageFilter, Role},
};
use memory_index::{Candidate, Change, Index, Point, Search, Selection, Subject};
use memory_store::Scope;
use memory_text::LexicalVector;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};

use crate::point::{point, thread, uuid};

/// The seeds of a run that nothing else is asked of.
const SEEDS: u64 = 5;
const CHANGES: usize = 30;
/// So many words that most points share some.
const WORDS: u32 = 12;
/// An index sums in another order.
const ROUNDING: f32 = 1e-4;

const APPS: [&str; 2] = ["support", "sales"];
const USERS: [&str; 2] = ["ada", "bo"];
const TIERS: [&str; 2] = ["gold", "silver"];
const ROLES: [Role; 3] = [Role::User, Role::Assistant, Role::Tool];

/// The id of a message, and the number of a passage after the first one.
type Found = (u128, Option<u16>);

pub async fn generated_searches_find_what_a_comparison_with_all_points_finds(
    index: Arc<dyn Index>,
) {
    index.prepare().await.unwrap();
    for seed in memory_testing::seeds(SEEDS) {
        let mut all = All::new(seed);
        let mut found = 0;
        for _ in 0..CHANGES {
            let change = all.change();
            index.apply(vec![change]).await.unwrap();
            for _ in 0..2 {
                found += all.compare(&*index, seed).await;
            }
        }
        assert!(found > 2 * CHANGES, "seed {seed} finds {found} only");
    }
}

/// All points of a tenant.
struct All {
    tenant: TenantId,
    rng: Rng,
    points: BTreeMap<u128, Point>,
}

impl All {
    fn new(seed: u64) -> Self {
        Self {
            tenant: TenantId::new(format!("acme-{seed}")),
            rng: Rng::with_seed(seed),
            points: BTreeMap::new(),
        }
    }

    fn one<T: Copy, const N: usize>(&mut self, of: [T; N]) -> T {
        of[self.rng.usize(..N)]
    }

    fn vector(&mut self) -> [f32; 4] {
        let vector = [(); 4].map(|()| self.rng.f32() - 0.5);
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.map(|x| x / length)
    }

    fn words(&mut self) -> LexicalVector {
        let indices: Vec<u32> = (0..WORDS).filter(|_| self.rng.u32(..4) == 0).collect();
        let values = indices.iter().map(|_| 0.1 + self.rng.f32()).collect();
        LexicalVector { indices, values }
    }

    /// A change, which it also carries out.
    fn change(&mut self) -> Change {
        let number = self.rng.u32(1..20);
        match self.rng.u32(..10) {
            0 => {
                self.points.remove(&u128::from(number));
                Change::Delete {
                    tenant: self.tenant.clone(),
                    subject: Subject::Message(uuid(u128::from(number)).into()),
                }
            }
            1 => {
                let (of, up_to_seq) = (thread(self.rng.u128(1..4)), i64::from(number));
                self.points
                    .retain(|_, point| point.thread != of || point.seq > up_to_seq);
                Change::Purge {
                    tenant: self.tenant.clone(),
                    thread: of,
                    up_to_seq,
                }
            }
            _ => {
                let point = self.point(number);
                self.points.insert(u128::from(number), point.clone());
                Change::Upsert(Box::new(point))
            }
        }
    }

    fn point(&mut self, number: u32) -> Point {
        let metadata = json!({
            "tier": self.one(TIERS),
            "age": self.rng.u32(..2),
            "vip": self.rng.bool(),
        });
        // The text of a message never changes, and so not the number of its passages.
        let passages = (0..number % 3).map(|_| self.vector().to_vec());
        let passages = passages.collect::<Vec<_>>();
        Point {
            tenant: self.tenant.clone(),
            app: AppId::new(self.one(APPS)),
            user: UserId::new(self.one(USERS)),
            thread: thread(self.rng.u128(1..4)),
            role: self.one(ROLES),
            name: self.one(USERS).to_owned(),
            said_by: UserId::new(self.one(USERS)),
            metadata: metadata.as_object().unwrap().clone().into(),
            passages,
            lexical: self.words(),
            ..point(number, self.vector())
        }
    }

    fn scope(&mut self) -> Scope {
        match self.rng.u32(..3) {
            0 => Scope::Thread(thread(self.rng.u128(1..4))),
            1 => Scope::User {
                app: AppId::new(self.one(APPS)),
                user: UserId::new(self.one(USERS)),
            },
            _ => Scope::App(AppId::new(self.one(APPS))),
        }
    }

    fn filter(&mut self) -> MessageFilter {
        let day = |day: u32| Some(OffsetDateTime::UNIX_EPOCH + Duration::days(day.into()));
        let metadata = match self.rng.u32(..6) {
            0 => json!({"tier": self.one(TIERS)}),
            1 => json!({"age": 1, "vip": self.rng.bool()}),
            _ => json!({}),
        };
        let mut filter = MessageFilter {
            metadata: metadata.as_object().unwrap().clone().into(),
            ..MessageFilter::default()
        };
        match self.rng.u32(..9) {
            0 => filter.roles = vec![self.one(ROLES), self.one(ROLES)],
            1 => filter.names = vec![self.one(USERS).to_owned()],
            2 => filter.start = day(self.rng.u32(1..20)),
            3 => filter.end = day(self.rng.u32(1..20)),
            4 => filter.users = vec![UserId::new(self.one(USERS))],
            _ => {}
        }
        filter
    }

    /// Searches the index and all points, and returns how many candidates were found.
    async fn compare(&mut self, index: &dyn Index, seed: u64) -> usize {
        let (scope, filter) = (self.scope(), self.filter());
        let (dense, lexical) = (self.vector(), self.words());
        let limit = self.rng.usize(1..8);
        let search = Search {
            selection: Selection::new(&self.tenant, &scope, &filter),
            dense: Some(dense.to_vec()),
            lexical: Some(lexical.clone()),
            limit,
        };
        let found = index.search(search).await.unwrap();
        let selected = || {
            let points = self.points.values();
            points.filter(|point| is_in(point, &scope) && passes(point, &filter))
        };
        let by_meaning = selected().flat_map(|point| {
            let texts = point.dense.iter().map(|vector| (None, vector));
            let passages = (2..).zip(&point.passages);
            let passages = passages.map(|(number, vector)| (Some(number), vector));
            texts.chain(passages).map(|(passage, vector)| {
                let score = vector.iter().zip(&dense).map(|(a, b)| a * b).sum();
                ((point.message.uuid().as_u128(), passage), score)
            })
        });
        let by_word = selected().map(|point| {
            let id = (point.message.uuid().as_u128(), None);
            (id, lexical.dot(&point.lexical))
        });
        let by_word = by_word.filter(|(_, score)| *score > 0.0);
        let what = format!("seed {seed}, {scope:?}, {filter:?}, limit {limit}");
        check(&found.dense, by_meaning.collect(), limit, &what);
        check(&found.lexical, by_word.collect(), limit, &what);
        found.dense.len() + found.lexical.len()
    }
}

fn is_in(point: &Point, scope: &Scope) -> bool {
    match scope {
        Scope::Thread(thread) => point.thread == *thread,
        Scope::User { app, user } => point.app == *app && point.user == *user,
        Scope::App(app) => point.app == *app,
        Scope::Space { .. } => panic!("{scope:?}"),
    }
}

fn passes(point: &Point, filter: &MessageFilter) -> bool {
    let read = |json: &JsonObject| serde_json::from_str::<Value>(json.as_str()).unwrap();
    let (found, wanted) = (read(&point.metadata), read(&filter.metadata));
    let mut metadata = wanted.as_object().unwrap().iter();
    (filter.roles.is_empty() || filter.roles.contains(&point.role))
        && (filter.names.is_empty() || filter.names.contains(&point.name))
        && (filter.users.is_empty() || filter.users.contains(&point.said_by))
        && filter.start.is_none_or(|start| point.said >= start)
        && filter.end.is_none_or(|end| point.said < end)
        && metadata.all(|(key, value)| found[key] == *value)
}

/// Checks that candidates are the best of all: equally good ones may stand for each other.
fn check(found: &[Candidate], mut all: Vec<(Found, f32)>, limit: usize, what: &str) {
    all.sort_by_key(|(_, score)| Reverse(ordered(*score)));
    assert_eq!(found.len(), all.len().min(limit), "{what}");
    let mut seen = HashSet::new();
    for (candidate, (_, best)) in found.iter().zip(&all) {
        let passage = candidate.passage.map(|passage| passage.number);
        let id = (candidate.id.as_u128(), passage);
        assert!(seen.insert(id), "{id:?} is found twice: {what}");
        let own = all.iter().find(|(one, _)| *one == id);
        let (_, own) = own.unwrap_or_else(|| panic!("{id:?} is not in the scope: {what}"));
        for score in [own, best] {
            let near = (candidate.score - score).abs() < ROUNDING;
            assert!(near, "{id:?} has {}, not {score}: {what}", candidate.score);
        }
    }
}

/// A score as a number that can be ordered.
#[allow(clippy::cast_possible_truncation, reason = "scores are small")]
fn ordered(score: f32) -> i64 {
    (f64::from(score) * 1e9) as i64
}
