//! Random steps: the summary that holds has the messages at the beginning of the path.

use std::collections::{BTreeMap, BTreeSet};

use memory_contract::{
    MessageId,
    message::{Parent, Role},
};
use proptest::prelude::*;

use super::Summarized;
use crate::world::{World, after};

/// One step. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    /// Answers an old message once more.
    Reply(usize),
    Root,
    SetHead(usize),
    Delete(usize),
    DeleteHead,
    /// Summarizes some of what is left; or finds nothing worth it.
    SumUp(usize, bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..6_usize).prop_map(Step::Append),
        3 => any::<usize>().prop_map(Step::Reply),
        1 => Just(Step::Root),
        4 => any::<usize>().prop_map(Step::SetHead),
        3 => any::<usize>().prop_map(Step::Delete),
        2 => Just(Step::DeleteHead),
        9 => (any::<usize>(), prop::bool::weighted(0.8)).prop_map(|(end, some)| Step::SumUp(end, some)),
    ]
}

/// Messages with their numbers; the text of a summary has those that it was made of.
struct Model<'a> {
    one: Summarized<'a>,
    owner: tokio_postgres::Client,
    messages: Vec<(MessageId, Option<usize>, bool)>,
    head: Option<usize>,
    /// In which nothing was worth a summary.
    skipped: BTreeSet<usize>,
    /// How deep the summary of a head reached when it was the head last.
    seen: BTreeMap<usize, i32>,
}

impl Model<'_> {
    fn path(&self) -> Vec<usize> {
        let mut path: Vec<usize> =
            std::iter::successors(self.head, |at| self.messages[*at].1).collect();
        path.reverse();
        path
    }

    fn chosen(&self, number: usize) -> Option<usize> {
        let alive: Vec<usize> = (0..self.messages.len())
            .filter(|at| self.messages[*at].2)
            .collect();
        alive.get(number % alive.len().max(1)).copied()
    }

    async fn append(&mut self, parent: Parent, of: Option<usize>) {
        let text = format!("Number {}.", self.messages.len());
        let new = after(parent, Role::User, &text);
        let world = self.one.world;
        let done = world.append(self.one.thread, vec![new]).await.unwrap();
        self.messages.push((done.messages[0].id, of, true));
        self.head = Some(self.messages.len() - 1);
    }

    async fn delete(&mut self, at: usize) {
        self.one.erase(self.messages[at].0).await;
        self.messages[at].2 = false;
        self.seen.clear();
        let threads = self.one.world.store.threads(&self.one.world.caller);
        let head = threads.get_thread(self.one.thread).await.unwrap().head;
        self.head = head.map(|head| {
            let mut ids = self.messages.iter();
            ids.position(|(id, ..)| *id == head).unwrap()
        });
    }

    async fn play(&mut self, step: &Step) {
        match *step {
            Step::Append(count) => {
                for _ in 0..count {
                    self.append(Parent::Previous, self.head).await;
                }
            }
            Step::Reply(to) => {
                if let Some(at) = self.chosen(to) {
                    let parent = Parent::Message(self.messages[at].0.into());
                    self.append(parent, Some(at)).await;
                }
            }
            Step::Root => self.append(Parent::Root, None).await,
            Step::SetHead(to) => {
                if let Some(at) = self.chosen(to) {
                    self.one.set_head(self.messages[at].0).await;
                    self.head = Some(at);
                }
            }
            Step::Delete(which) => {
                if let Some(at) = self.chosen(which) {
                    self.delete(at).await;
                }
            }
            Step::DeleteHead => {
                if let Some(at) = self.head {
                    self.delete(at).await;
                }
            }
            Step::SumUp(end, is_worth_it) => self.sum_up(end, is_worth_it).await,
        }
    }

    async fn sum_up(&mut self, end: usize, is_worth_it: bool) {
        self.one.align().await;
        let (from, to) = self.one.depths().await;
        let left = &self.path()[from as usize..to as usize];
        let left: Vec<usize> = left
            .iter()
            .copied()
            .filter(|at| self.messages[*at].2)
            .collect();
        if left.is_empty() {
            return;
        }
        let read = &left[..=end % left.len()];
        let to_seq = 1 + *read.last().unwrap() as i64;
        let known = self.one.holding().await;
        assert!(known.len() < 2, "{known:?}");
        let mut text = String::new();
        if is_worth_it {
            let said = read.iter().map(|at| format!(" {at}")).collect::<String>();
            text = match known.first() {
                Some((_, before)) => format!("{before}{said}"),
                None => format!("{}:{said}", self.one.thread),
            };
        } else {
            self.skipped.extend(read);
        }
        let sources: Vec<MessageId> = read.iter().map(|at| self.messages[*at].0).collect();
        let built_on = if is_worth_it { known } else { Vec::new() };
        self.one
            .sum_up(&text, to_seq, &sources, built_on)
            .await
            .unwrap();
    }

    async fn check(&mut self) {
        self.one.align().await;
        assert!(!self.one.align().await);
        let (to, depth) = self.one.depths().await;
        let path = self.path();
        assert_eq!(path.len(), depth as usize);
        let texts = self.one.texts().await;
        assert!(texts.len() < 2, "{texts:?}");
        let summed: Vec<usize> = texts
            .iter()
            .flat_map(|text| text.split(' ').skip(1))
            .map(|number| number.parse().unwrap())
            .collect();
        let covered = &path[..to as usize];
        // Each readable message up to there, once, in order, and no other.
        let expected: Vec<usize> = covered
            .iter()
            .copied()
            .filter(|at| self.messages[*at].2 && summed.contains(at))
            .collect();
        assert_eq!(summed, expected);
        for at in covered {
            let (_, _, is_readable) = self.messages[*at];
            assert!(
                !is_readable || summed.contains(at) || self.skipped.contains(at),
                "{at} is neither read nor left"
            );
        }
        // When the head returns, nothing is read again.
        if let Some(head) = self.head {
            let before = self.seen.insert(head, to);
            assert!(before.is_none_or(|before| before <= to), "{before:?} {to}");
        }
        // Erased words are in no memory, whether it holds or not.
        let sql = "SELECT text FROM recollect.memories WHERE thread_id = $1";
        let thread = self.one.thread.uuid();
        for row in self.owner.query(sql, &[&thread]).await.unwrap() {
            let text: &str = row.get(0);
            for at in text.split(' ').skip(1) {
                let (_, _, is_readable) = self.messages[at.parse::<usize>().unwrap()];
                assert!(is_readable, "{text}");
            }
        }
    }
}

#[test]
fn summaries_cover_the_beginning_of_each_path_once() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = runtime.block_on(World::new());
    let config = ProptestConfig {
        cases: std::env::var("PROPTEST_CASES")
            .ok()
            .and_then(|cases| cases.parse().ok())
            .unwrap_or(20),
        max_shrink_iters: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let steps = prop::collection::vec(step(), 1..30);
    proptest!(config, |(steps in steps)| {
        runtime.block_on(async {
            let mut model = Model {
                one: Summarized::new(&world).await,
                owner: world.owner().await,
                messages: Vec::new(),
                head: None,
                skipped: BTreeSet::new(),
                seen: BTreeMap::new(),
            };
            for step in &steps {
                model.play(step).await;
                model.check().await;
            }
        });
    });
}
