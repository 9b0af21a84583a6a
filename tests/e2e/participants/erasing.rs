//! Deleting a user deletes what the user said in threads of others.

use memory_contract::proto::Role;
use recollect_tests::{
    Options, SOON, Server, app, apply, erased, say, session, texts, trial_with_own_server,
};

use super::{extract_facts, said_by};

#[apply(trial_with_own_server)]
async fn f18_deleting_a_user_deletes_what_the_user_said_in_threads_of_others() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (_dir, _server, client) = Server::start_own(&options).await;
    // A user of all apps is deleted of this test alone.
    let bob = format!("bob-{}", app());
    for everywhere in [false, true] {
        let app = app();
        extract_facts(&client, &app).await;
        let adas = client.thread(&app).await;
        let shared = client.resolve(session(&app, "", "shared")).await.thread_id;
        let own = client.thread_of(&app, &bob).await;
        let talk = || {
            vec![
                said_by("ada", "I live in Oslo."),
                said_by(&bob, "I live in Rome."),
                say(Role::Assistant, "Two fine cities."),
                said_by(&bob, "I prefer trains to planes."),
            ]
        };
        for thread_id in [&adas, &shared] {
            client.append(thread_id, talk()).await;
            client.extracted(thread_id).await;
        }
        client.append_text(&own, "I work as a baker.").await;
        client.extracted(&own).await;
        assert_eq!(client.all_memories(&app, &bob).await.len(), 3);

        let of_app = if everywhere { "" } else { app.as_str() };
        let begun = client.delete_user(of_app, &bob).await;
        let receipt = client.finished(&begun, 2 * SOON).await;
        // In all apps also what is said below.
        let expected = 5 + i64::from(everywhere);
        let messages = erased(&receipt, "messages");
        assert_eq!(messages, expected, "{receipt:?}");
        assert!(client.all_memories(&app, &bob).await.is_empty());
        for thread_id in [&adas, &shared] {
            let left = client.all_messages(thread_id).await;
            assert_eq!(texts(&left), ["I live in Oslo.", "Two fine cities."]);
        }
        assert_eq!(client.all_memories(&app, "ada").await.len(), 1);
        // Afterwards the user may come back.
        let again = vec![said_by(&bob, "Hello again.")];
        client.append(&adas, again).await;
    }
}
