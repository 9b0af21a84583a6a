//! Scores that tell what is relevant.

use memory_contract::proto::{
    BuildContextRequest, ContextBlockKind, MemoryPolicy, OmissionReason, SearchMethod,
};
use recollect_tests::{
    Client, app, apply, block_texts, context_request, fresh_from, search_request, trial,
};

use super::diary;
use crate::acme;

/// Questions that the talk answers, and what they find.
const ANSWERED: [(&str, &str); 4] = [
    ("Which nuts must Mirela avoid?", "peanuts"),
    ("What is the name of our greyhound?", "Biscuit"),
    ("What is the order number of the sofa?", "QX-88213-B"),
    ("Wie heißt unser Windhund?", "Biscuit"),
];

/// What it does not speak of.
const UNANSWERED: [&str; 3] = [
    "Explain quantum chromodynamics on a lattice",
    "SELECT count(*) FROM invoices GROUP BY month",
    "Wie hoch war die Inflation in Argentinien 1989?",
];

async fn with_talk() -> (Client, String, String) {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let stored = diary::store(&client, &thread_id).await;
    (client, thread_id, stored.revision)
}

#[apply(trial)]
async fn b21_a_score_tells_answers_from_messages_about_something_else() {
    let (client, thread_id, revision) = with_talk().await;
    for method in [SearchMethod::Hybrid, SearchMethod::Dense] {
        let best = async |query: &str| {
            let mut request = search_request(&thread_id, query, &revision);
            request.method = method.into();
            let found = client.search(request).await;
            assert_eq!(found.degradations, [], "{query}");
            found.matches[0].score
        };
        let mut answers = Vec::new();
        for (query, _) in ANSWERED {
            answers.push(best(query).await);
        }
        let mut others = Vec::new();
        for query in UNANSWERED {
            others.push(best(query).await);
        }
        let least = answers.iter().copied().fold(1.0, f32::min);
        let most = others.iter().copied().fold(0.0, f32::max);
        assert!(least > most, "{method:?}: {answers:?}, {others:?}");
    }
}

#[apply(trial)]
async fn b21_a_context_lacks_what_has_nothing_to_do_with_its_input() {
    let (client, thread_id, revision) = with_talk().await;
    let context = async |input: &str, policy: Option<MemoryPolicy>| {
        let request = BuildContextRequest {
            freshness: fresh_from(&revision),
            policy,
            ..context_request(&thread_id, input)
        };
        client.context(request).await
    };
    for (input, answer) in ANSWERED {
        let found = block_texts(&context(input, None).await, ContextBlockKind::Recalled).concat();
        assert!(found.contains(answer), "{input}: {found}");
    }
    let all = MemoryPolicy {
        min_score: Some(0.0),
        ..Default::default()
    };
    for input in UNANSWERED {
        let found = context(input, None).await;
        let below = OmissionReason::Threshold;
        assert!(
            found.omitted.iter().any(|one| one.reason() == below),
            "{input}"
        );
        let texts = block_texts(&found, ContextBlockKind::Recalled).concat();
        let everything = context(input, Some(all.clone())).await;
        let everything = block_texts(&everything, ContextBlockKind::Recalled).concat();
        assert!(texts.len() < everything.len(), "{input}: {texts}");
    }
}
