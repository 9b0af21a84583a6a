//! What is repeated again and again does not crowd out the rest.

use memory_contract::proto::{
    BuildContextRequest, ContextBlockKind, MessageInput, RecallReason, RecallRequest,
    RecalledMessage, Role,
};
use recollect_tests::{
    Client, app, apply, block_texts, context_request, has_reason, recall_request, text_of, trial,
    turn,
};

use crate::acme;

const REPEATED: &str = "I'm allergic to hazelnuts, so please keep them out of every recipe.";
const OTHER: &str = "My daughter Mirela cannot stand coriander in her food.";

/// The matches of a recall, best first.
async fn matches(client: &Client, request: &RecallRequest) -> Vec<RecalledMessage> {
    let recalled = client.recall(request.clone()).await;
    let mut matches = recalled.messages;
    matches.retain(|message| has_reason(message, RecallReason::Match));
    matches.sort_by_key(|message| message.rank);
    matches
}

/// The matches that are a text of the user.
fn of_user<'a>(matches: &'a [RecalledMessage], text: &str) -> Vec<&'a RecalledMessage> {
    let is_it = |found: &&RecalledMessage| {
        let message = found.message.as_ref().unwrap();
        message.role() == Role::User && text_of(message) == text
    };
    matches.iter().filter(is_it).collect()
}

#[apply(trial)]
async fn f20_what_is_quoted_thirty_times_leaves_room_for_the_rest() {
    let client = acme().await;
    let app = app();
    let first = client.thread(&app).await;
    let said: Vec<MessageInput> = [
        turn(REPEATED, "Noted."),
        turn("The bus was late again today.", "How annoying."),
        turn("I watched an old film about lighthouses.", "Which one?"),
        turn(OTHER, "I see."),
        turn("My bicycle has a flat tire.", "Do you have a pump?"),
    ]
    .concat();
    let stored = client.append(&first, said).await;
    let asking = client.thread(&app).await;
    let question = "Which food must I avoid: hazelnuts, coriander?";
    let before = matches(
        &client,
        &recall_request(&asking, question, &stored.revision),
    )
    .await;
    let [quoted] = of_user(&before, REPEATED)[..] else {
        panic!("{before:?}")
    };
    let score = quoted.score;
    assert_eq!(of_user(&before, OTHER).len(), 1, "{before:?}");

    // Each message quotes what was recalled, and each answer says it again.
    let loop_thread = client.thread(&app).await;
    let mut revision = String::new();
    for day in 0..30 {
        let own = format!("And what about day {day}?");
        let request = BuildContextRequest {
            query: "hazelnuts in a recipe".to_owned(),
            max_tokens: Some(2_000),
            ..context_request(&loop_thread, &own)
        };
        let context = client.context(request).await;
        let quotations = block_texts(&context, ContextBlockKind::Recalled).join("\n\n");
        assert!(quotations.contains("hazelnuts"), "{context:?}");
        let said = format!("{quotations}\n\n{own}");
        let stored = client.append_turn(&loop_thread, &said, REPEATED).await;
        revision = stored.revision;
    }

    let after = matches(&client, &recall_request(&asking, question, &revision)).await;
    assert_eq!(of_user(&after, OTHER).len(), 1, "{after:?}");
    let [quoted] = of_user(&after, REPEATED)[..] else {
        panic!("{after:?}")
    };
    assert!(quoted.score <= score + 0.05, "{} {score}", quoted.score);
    // The answers are one match, because they are equal.
    let answers = after.iter().filter(|found| {
        let message = found.message.as_ref().unwrap();
        message.role() == Role::Assistant && text_of(message) == REPEATED
    });
    assert!(answers.count() <= 1, "{after:?}");
}
