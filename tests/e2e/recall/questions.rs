//! How questions are embedded.

use std::time::Duration;

use memory_contract::proto::Role;
use recollect_tests::{
    Client, Options, Server, app, apply, eventually, http_get, recall_request,
    trial_with_own_server,
};

use crate::recall::ranking::by;

const SOON: Duration = Duration::from_secs(20);

/// The questions that a server has embedded.
async fn embedded(server: &Server) -> u64 {
    let (_, metrics) = http_get(&server.ready().metrics_addr, "/metrics").await;
    let name = "recollect_embed_batch_size_sum{kind=\"query\"} ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |number| number.parse().unwrap())
}

async fn ask(client: &Client, thread_id: &str, question: &str, revision: &str) {
    let recalled = client
        .recall(recall_request(thread_id, question, revision))
        .await;
    assert_eq!(recalled.degradations, [], "{question}");
    assert_ne!(recalled.messages, [], "{question}");
}

#[apply(trial_with_own_server)]
async fn each_question_is_embedded_once_whomever_it_names() {
    let (_dir, server, client) = Server::start_own(&Options::default()).await;
    let thread_id = client.thread(&app()).await;
    let stored = client
        .append(
            &thread_id,
            vec![
                by(Role::User, "Ada", "I adopted a small dog."),
                by(Role::Assistant, "Bo", "I would rather have a boat."),
            ],
        )
        .await;
    let questions = [
        "What does Bo want?",
        "Who has a dog?",
        "Which pet does Ada have?",
        "What does Bo say to Ada?",
        "Where is the boat?",
    ];
    // A question is embedded with the names in it, then without, while the speakers become known.
    eventually("each question is embedded once", SOON, async || {
        let before = embedded(&server).await;
        for question in questions {
            ask(&client, &thread_id, question, &stored.revision).await;
        }
        embedded(&server).await == before + questions.len() as u64
    })
    .await;
}
