//! Which of several similar messages comes first.

use std::time::Duration;

use memory_contract::proto::{MessageInput, Role};
use recollect_tests::{Client, app, apply, eventually, say, search_request, texts, trial};

use crate::acme;

const SOON: Duration = Duration::from_secs(20);

pub fn by(role: Role, name: &str, text: &str) -> MessageInput {
    MessageInput {
        name: name.to_owned(),
        ..say(role, text)
    }
}

/// Who said the best match.
async fn best_speaker(client: &Client, thread_id: &str, query: &str, revision: &str) -> String {
    let search = search_request(thread_id, query, revision);
    let found = client.search(search).await;
    let best = found.matches.into_iter().next();
    best.and_then(|one| one.message).unwrap_or_default().name
}

#[apply(trial)]
async fn b01_a_speaker_is_known_by_a_name_in_any_case_or_one_word_of_it() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let text = "I adopted a small dog from the shelter, and he sleeps all day on my sofa.";
    // Apart, because a message also counts for those beside it.
    let mut said = vec![by(Role::User, "elise", text)];
    let others = [
        "It rained.",
        "The bus was late.",
        "I had soup.",
        "Good night.",
    ];
    said.extend(others.map(|other| by(Role::User, "", other)));
    said.push(by(Role::Assistant, "Fahim Khan", text));
    let stored = client.append(&thread_id, said).await;
    for (query, speaker) in [
        ("Which pet did Elise adopt?", "elise"),
        ("Which pet did Fahim adopt?", "Fahim Khan"),
        ("which pet did fahim khan adopt", "Fahim Khan"),
    ] {
        // The names of a scope are counted again every ten seconds.
        eventually(query, SOON, async || {
            best_speaker(&client, &thread_id, query, &stored.revision).await == speaker
        })
        .await;
    }
}

#[apply(trial)]
async fn b01_a_question_for_a_time_prefers_the_message_that_says_when() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let vague = "My aunt is always glad when I visit her in her old house by the sea.";
    let exact = "My aunt was so glad that I visited her yesterday in her old house by the sea.";
    let said = [
        vague,
        "It rained.",
        "I had soup.",
        "The bus was late.",
        exact,
    ];
    let said = said.map(|text| by(Role::User, "Ada", text)).to_vec();
    let stored = client.append(&thread_id, said).await;
    let query = "When did Ada visit her aunt by the sea?";
    let search = search_request(&thread_id, query, &stored.revision);
    let found = client.search(search).await;
    assert_eq!(found.degradations, []);
    assert_eq!(texts(&found.matches)[..2], [exact, vague]);
    // Both are relevant, and the others are not.
    let scores: Vec<f32> = found.matches.iter().map(|one| one.score).collect();
    let (relevant, others) = scores.split_at(2);
    assert!(relevant.iter().all(|score| *score > 0.9), "{scores:?}");
    assert!(
        others.iter().all(|score| *score < relevant[1]),
        "{scores:?}"
    );
}
