//! What a selection of sentences can reach at most that knows the questions.

use std::collections::{BTreeMap, BTreeSet};

use memory_budget::Tokenizer;
use memory_contract::message::Part;
use memory_distill::{Extractive, SourceMessage};

use crate::conversation::Conversation;
use crate::words::flat;

/// A source and the place of a sentence in it.
type Sentence = (usize, usize);

/// Most sentences of a turn that are tried, and most of them at a time.
const SENTENCES: usize = 16;
const TOGETHER: u32 = 3;
/// Approximate tokens of a line's speaker and separator.
const LINE_TOKENS: i32 = 3;

/// The texts of the sentences that keep the most facts in at most so many tokens each,
/// found greedily: the sentences that add the most facts per token come first.
pub async fn oracle(
    conversation: &Conversation,
    tokenizer: Tokenizer,
    budgets: &[i32],
) -> Vec<String> {
    let order = order(conversation, tokenizer);
    let mut texts = Vec::new();
    for budget in budgets {
        let (mut low, mut high) = (0, order.len());
        while low < high {
            let middle = (low + high).div_ceil(2);
            let text = text(conversation, &order[..middle]).await;
            if tokenizer.count(&text) <= *budget {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        texts.push(text(conversation, &order[..low]).await);
    }
    texts
}

/// Sentences of one turn.
struct Group {
    /// Facts per token.
    value: f64,
    sentences: Vec<usize>,
    /// The facts that survive by them.
    facts: Vec<usize>,
}

/// Groups of sentences, the best first.
fn order(conversation: &Conversation, tokenizer: Tokenizer) -> Vec<Vec<Sentence>> {
    let mut open: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (nth, fact) in conversation.facts.iter().enumerate() {
        open.entry(fact.source).or_default().push(nth);
    }
    let mut chosen: BTreeSet<Sentence> = BTreeSet::new();
    let mut best: BTreeMap<usize, Group> = BTreeMap::new();
    for (source, facts) in &open {
        let group = best_group(conversation, tokenizer, facts, *source, &chosen);
        best.extend(group.map(|group| (*source, group)));
    }
    let mut order = Vec::new();
    while let Some(source) = best
        .iter()
        .max_by(|a, b| a.1.value.total_cmp(&b.1.value))
        .map(|(source, _)| *source)
    {
        let Some(group) = best.remove(&source) else {
            break;
        };
        let sentences: Vec<Sentence> = group
            .sentences
            .into_iter()
            .map(|place| (source, place))
            .collect();
        chosen.extend(&sentences);
        order.push(sentences);
        let facts = open.entry(source).or_default();
        facts.retain(|nth| !group.facts.contains(nth));
        let group = best_group(conversation, tokenizer, facts, source, &chosen);
        best.extend(group.map(|group| (source, group)));
    }
    order
}

/// The sentences of a turn that, added to the chosen ones, keep the most of `facts` per
/// token.
fn best_group(
    conversation: &Conversation,
    tokenizer: Tokenizer,
    facts: &[usize],
    source: usize,
    chosen: &BTreeSet<Sentence>,
) -> Option<Group> {
    let facts_of = |nth: &usize| &conversation.facts[*nth];
    let all = facts_of(facts.first()?).sentences();
    let count = all.len().min(SENTENCES);
    let tokens: Vec<i32> = all.iter().map(|text| tokenizer.count(text)).collect();
    let mut best: Option<Group> = None;
    for set in (1_u32..1 << count).filter(|set| set.count_ones() <= TOGETHER) {
        let is_chosen = |place: &usize| chosen.contains(&(source, *place));
        let is_added = |place: &usize| set & (1 << *place) != 0 && !is_chosen(place);
        let quoted: Vec<String> = (0..all.len())
            .filter(|place| is_added(place) || is_chosen(place))
            .map(|place| flat(all[place]))
            .collect();
        let quoted = quoted.join("\n");
        let sentences: Vec<usize> = (0..count).filter(is_added).collect();
        let kept: Vec<usize> = facts
            .iter()
            .copied()
            .filter(|nth| facts_of(nth).survives(&quoted))
            .collect();
        let cost = sentences.iter().map(|place| tokens[*place]).sum::<i32>() + LINE_TOKENS;
        let value = kept.len() as f64 / f64::from(cost);
        if !kept.is_empty() && best.as_ref().is_none_or(|best| value > best.value) {
            best = Some(Group {
                value,
                sentences,
                facts: kept,
            });
        }
    }
    best
}

/// The sentences as the extractive distiller renders them.
async fn text(conversation: &Conversation, groups: &[Vec<Sentence>]) -> String {
    let chosen: BTreeSet<Sentence> = groups.iter().flatten().copied().collect();
    let mut sources: Vec<SourceMessage> = Vec::new();
    let mut last = None;
    for (source, place) in chosen {
        let of_turn = conversation.facts.iter().find(|fact| fact.source == source);
        let Some(sentence) = of_turn.and_then(|fact| fact.sentences().get(place).copied()) else {
            continue;
        };
        if last != Some(source) {
            let mut message = conversation.sources[source].clone();
            message.message.parts.clear();
            sources.push(message);
            last = Some(source);
        }
        if let Some(message) = sources.last_mut() {
            message.message.parts.push(Part::text(sentence));
        }
    }
    Extractive::new().summary("", &sources, i32::MAX).await
}
