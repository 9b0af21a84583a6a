//! Recall: the budget, the threshold, and the reasons.

use std::collections::HashSet;

use memory_contract::proto::{
    MemoryPolicy, OmissionReason, RecallReason, RecallRequest, RecalledMessage, Role,
    recall_request::Budget,
};
use recollect_tests::{app, apply, has_reason, ids, recall_request, reply, text_of, trial};

use super::diary;
use super::matches::{of, with_talk};
use crate::acme;

#[apply(trial)]
async fn t16_the_budget_covers_everything_that_is_returned() {
    let (client, thread_id, revision) = with_talk().await;
    let read = async |budget| {
        let request = RecallRequest {
            budget,
            explain: true,
            ..recall_request(&thread_id, "What is the name of the dog?", &revision)
        };
        client.recall(request).await
    };
    let within = async |max_tokens| read(Some(Budget::MaxTokens(max_tokens))).await;
    let whole = read(None).await;
    let unlimited = read(Some(Budget::Unlimited(()))).await;
    assert_eq!(unlimited.messages, whole.messages);
    let size = |messages: &[RecalledMessage]| -> i32 {
        let messages = messages.iter();
        messages
            .map(|message| message.message.as_ref().unwrap().token_count)
            .sum()
    };
    assert_eq!(whole.total_tokens, size(&whole.messages));
    assert!(whole.cuts.is_empty());
    for max_tokens in (1..whole.total_tokens + 10)
        .step_by(5)
        .chain([whole.total_tokens])
    {
        let cut = within(max_tokens).await;
        assert!(cut.total_tokens <= max_tokens);
        assert_eq!(cut.total_tokens, size(&cut.messages));
        let out = cut
            .omitted
            .iter()
            .filter(|omitted| omitted.reason() == OmissionReason::Budget)
            .count();
        assert_eq!(
            cut.messages.len() + out,
            whole.messages.len(),
            "at {max_tokens}"
        );
        // What was left out is counted, by reason.
        assert!(cut.cuts.is_sorted_by(|one, next| one.reason < next.reason));
        for one in &cut.cuts {
            let reason = |found: &&RecalledMessage| found.reasons[0] == one.reason;
            let kept = cut.messages.iter().filter(reason).count();
            let all = whole.messages.iter().filter(reason).count();
            let counted = usize::try_from(one.message_count).unwrap();
            assert!(counted > 0 && kept + counted == all, "{one:?}");
        }
        let counted: i64 = cut.cuts.iter().map(|one| one.message_count).sum();
        assert_eq!(usize::try_from(counted).unwrap(), out);
        let tokens: i64 = cut.cuts.iter().map(|one| one.token_count).sum();
        assert_eq!(tokens, i64::from(whole.total_tokens - cut.total_tokens));
        // The window comes first, then the matches, then the neighbors.
        let (recent, matches) = (
            of(&cut, RecallReason::Recent),
            of(&cut, RecallReason::Match),
        );
        let left = max_tokens - cut.total_tokens;
        if recent.len() < 4 && left > 40 {
            panic!("{left} tokens left, and the window is cut");
        }
        if matches.len() < 5 && left > 40 {
            panic!("{left} tokens left, and matches are cut");
        }
    }
    assert_eq!(within(whole.total_tokens).await.messages, whole.messages);
}

#[apply(trial)]
async fn b07_each_message_says_why_it_is_there() {
    let (client, thread_id, revision) = with_talk().await;
    let query = "order number QX-88213-B of the sofa";
    let recalled = client
        .recall(recall_request(&thread_id, query, &revision))
        .await;
    let mut best: Vec<&RecalledMessage> = of(&recalled, RecallReason::Match);
    best.sort_by_key(|hit| hit.rank);
    let first = best[0];
    assert_eq!(
        text_of(first.message.as_ref().unwrap()),
        "The order number of the sofa is QX-88213-B."
    );
    assert!(
        first
            .dense_score
            .is_some_and(|score| (0.3..=1.0).contains(&score)),
        "{first:?}"
    );
    assert!(
        first.lexical_score.is_some_and(|score| score > 1.0),
        "{first:?}"
    );
    assert!(first.score > 0.9, "{first:?}");
    for message in &recalled.messages {
        assert!(!message.reasons.is_empty(), "{message:?}");
        let is_match = has_reason(message, RecallReason::Match);
        assert_eq!(is_match, message.rank > 0, "{message:?}");
        assert!((0.0..=1.0).contains(&message.score), "{message:?}");
        assert_eq!(
            has_reason(message, RecallReason::Neighbor),
            !message.neighbor_of.is_empty(),
            "{message:?}"
        );
        if is_match {
            assert!(message.dense_score.is_some() || message.lexical_score.is_some());
        }
    }
    let matched: HashSet<String> = ids(best.iter().copied()).into_iter().collect();
    let neighbors = of(&recalled, RecallReason::Neighbor);
    assert!(!neighbors.is_empty());
    for anchor in neighbors.iter().flat_map(|message| &message.neighbor_of) {
        assert!(matched.contains(anchor), "a neighbor belongs to a match");
    }
}

#[apply(trial)]
async fn b07_explain_says_why_others_were_left_out() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    client
        .append_turn(&thread_id, "The gate code?", "The gate code is 9153.")
        .await;
    let stored = client
        .append_turn(&thread_id, "The gate code?", "The gate code is 9153.")
        .await;
    client
        .append(
            &thread_id,
            vec![reply(
                &stored.messages[0].message_id,
                Role::Assistant,
                "The gate code is unknown.",
            )],
        )
        .await;
    let stored = diary::store(&client, &thread_id).await;
    let base = RecallRequest {
        explain: true,
        policy: Some(MemoryPolicy {
            top_k: Some(2),
            recent_window: Some(0),
            ..Default::default()
        }),
        ..recall_request(&thread_id, "gate code", &stored.revision)
    };
    let reasons = async |request: RecallRequest| -> HashSet<OmissionReason> {
        let recalled = client.recall(request).await;
        assert!(recalled.omitted.len() <= 200);
        let returned: HashSet<String> = ids(&recalled.messages).into_iter().collect();
        for omitted in &recalled.omitted {
            let both = returned.contains(&omitted.message_id);
            assert!(!both, "returned, and left out for {:?}", omitted.reason());
        }
        recalled
            .omitted
            .iter()
            .map(|omitted| omitted.reason())
            .collect()
    };
    let usual = reasons(base.clone()).await;
    for reason in [
        OmissionReason::Duplicate,
        OmissionReason::Rank,
        OmissionReason::Branch,
    ] {
        assert!(usual.contains(&reason), "{reason:?} is not among {usual:?}");
    }
    let tight = RecallRequest {
        budget: Some(Budget::MaxTokens(12)),
        ..base.clone()
    };
    assert!(reasons(tight).await.contains(&OmissionReason::Budget));
    let strict = RecallRequest {
        policy: Some(MemoryPolicy {
            min_score: Some(0.9),
            top_k: Some(50),
            recent_window: Some(0),
            ..Default::default()
        }),
        ..base.clone()
    };
    assert!(reasons(strict).await.contains(&OmissionReason::Threshold));
    let quiet = RecallRequest {
        explain: false,
        ..base
    };
    let quiet = client.recall(quiet).await;
    assert_eq!((quiet.omitted, quiet.effective_policy), (vec![], None));
}

#[apply(trial)]
async fn min_score_drops_weak_matches() {
    let (client, thread_id, revision) = with_talk().await;
    let read = async |min_score| {
        let request = RecallRequest {
            policy: Some(MemoryPolicy {
                min_score,
                top_k: Some(100),
                recent_window: Some(0),
                neighbors_before: Some(0),
                neighbors_after: Some(0),
                ..Default::default()
            }),
            ..recall_request(&thread_id, "Which dog did we adopt?", &revision)
        };
        client.recall(request).await.messages
    };
    let all = read(None).await;
    let scores: HashSet<String> = all.iter().map(|hit| format!("{:.4}", hit.score)).collect();
    assert!(scores.len() > 5, "scores differ between matches");
    let mut sorted: Vec<f32> = all.iter().map(|hit| hit.score).collect();
    sorted.sort_by(f32::total_cmp);
    let limit = sorted[sorted.len() / 2];
    let strong = read(Some(limit)).await;
    assert!(strong.len() < all.len() && !strong.is_empty());
    assert!(strong.iter().all(|hit| hit.score >= limit));
    let expected: Vec<_> = all.into_iter().filter(|hit| hit.score >= limit).collect();
    assert_eq!(ids(&strong), ids(&expected));
}

#[apply(trial)]
async fn recall_counts_with_the_tokens_of_the_model() {
    let (client, thread_id, revision) = with_talk().await;
    let read = async |model: &str| {
        let request = RecallRequest {
            model: model.to_owned(),
            ..recall_request(&thread_id, "peanuts", &revision)
        };
        let recalled = client.recall(request).await;
        (recalled.tokenizer, recalled.total_tokens)
    };
    let (tokenizer, usual) = read("").await;
    assert_eq!(tokenizer, "o200k_base");
    assert!(usual > 0);
    assert_eq!(read("gpt-4o").await, (tokenizer, usual));
    assert_eq!(read("gpt-4").await.0, "cl100k_base");
}
