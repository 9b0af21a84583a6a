//! What the summary of a thread, among its user's memories, was made of.

use memory_contract::proto::{ExtractionStrategy, Memory, Role};
use recollect_tests::{Answering, Client, SOON, apply, eventually, reply, trial_with_own_server};

use super::{extract, extracting, known};
use crate::branches::heads::set_head;

/// Waits until a memory holds, or does not.
async fn holds(client: &Client, memory: &Memory, expected: bool) {
    eventually("the right summary holds", SOON, async || {
        let (memory, _) = client.get_memory(&memory.memory_id).await;
        memory.valid_until.is_none() == expected
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn r11_only_the_range_of_a_deleted_message_is_summarized_again() {
    let (_dir, model, _server, client, app) = extracting(ExtractionStrategy::Summary, &[]).await;
    let thread_id = client.thread(&app).await;
    let mut made = Vec::new();
    let mut said = Vec::new();
    for (question, answer) in [
        ("We sail in May.", "To Bergen."),
        ("The boat is red.", "And old."),
        ("Its sails are white.", "And new."),
    ] {
        let turn = client.append_turn(&thread_id, question, answer).await;
        said.push(turn.messages[0].message_id.clone());
        made.push(known(&client, &app, "ada", question).await);
    }
    let before = model.asked().len();
    client.delete_message(&thread_id, &said[1]).await;
    let all = client.all_memories(&app, "ada").await;
    for (memory, is_left) in made.iter().zip([true, false, false]) {
        let found = all.iter().any(|left| left.memory_id == memory.memory_id);
        assert_eq!(found, is_left, "{memory:?} {all:?}");
    }
    let again = known(&client, &app, "ada", "Its sails are white.").await;
    let (first, _) = client.get_memory(&made[0].memory_id).await;
    assert_eq!(first.superseded_by, again.memory_id);
    assert_eq!(first.text, made[0].text);
    let asked = model.asked().split_off(before);
    assert_eq!(asked.len(), 1, "{asked:?}");
    // The model goes on from the first summary, and reads what came after it.
    assert!(asked[0].user.contains("Of We sail in May."), "{asked:?}");
    for (text, count) in [
        ("We sail in May.", 1),
        ("To Bergen.", 1),
        ("The boat is red.", 0),
        ("And old.", 1),
    ] {
        assert_eq!(
            asked[0].user.matches(text).count(),
            count,
            "{text} {asked:?}"
        );
    }
}

#[apply(trial_with_own_server)]
async fn b06_a_model_is_not_asked_again_when_the_head_returns() {
    let (_dir, model, _server, client, app) = extracting(ExtractionStrategy::Summary, &[]).await;
    let thread_id = client.thread(&app).await;
    let red = client
        .append_turn(&thread_id, "The boat is red.", "And old.")
        .await;
    let of_red = known(&client, &app, "ada", "The boat is red.").await;
    // Another answer within what the summary covers.
    let first = &red.messages[0].message_id;
    let other = reply(first, Role::Assistant, "And rather new.");
    let other = client.append(&thread_id, vec![other]).await;
    let of_other = known(&client, &app, "ada", "And rather new.").await;
    holds(&client, &of_red, false).await;
    let before = model.asked().len();
    // A model that is asked fails.
    model.answers(Answering::Words(String::new()));
    let heads = [&red.messages[1], &other.messages[0]].map(|message| &message.message_id);
    for round in 0..4 {
        set_head(&client, &thread_id, heads[round % 2]).await;
        holds(&client, &of_red, round % 2 == 0).await;
        holds(&client, &of_other, round % 2 == 1).await;
    }
    // Under another strategy the summary follows the head, too.
    extract(&client, &app, ExtractionStrategy::None).await;
    set_head(&client, &thread_id, heads[0]).await;
    holds(&client, &of_red, true).await;
    holds(&client, &of_other, false).await;
    assert_eq!(model.asked().len(), before);
}
