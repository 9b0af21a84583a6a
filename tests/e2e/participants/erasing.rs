//! Deleting a user deletes what the user said in threads of others.

use memory_contract::proto::{
    DeleteUserRequest, Deletion, DeletionState, GetDeletionRequest, Role, UserRef,
    delete_user_request::Target,
};
use recollect_tests::{
    Client, Options, SOON, Server, app, apply, eventually_some, say, session, texts,
    trial_with_own_server,
};

use super::{extract_facts, said_by};

/// Deletes a user, and waits for the end.
async fn deleted(client: &Client, target: Target) -> Deletion {
    let request = DeleteUserRequest {
        target: Some(target),
    };
    let begun = client.call(request).await.deletion.unwrap();
    eventually_some("the deletion is finished", 2 * SOON, async || {
        let request = GetDeletionRequest {
            deletion_id: begun.deletion_id.clone(),
        };
        let receipt = client.call(request).await.deletion.unwrap();
        (receipt.state() == DeletionState::Finished).then_some(receipt)
    })
    .await
}

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

        let receipt = deleted(
            &client,
            match everywhere {
                true => Target::UserOfAllApps(bob.clone()),
                false => Target::User(UserRef {
                    app_id: app.clone(),
                    user_id: bob.clone(),
                }),
            },
        )
        .await;
        for place in &receipt.places {
            assert_eq!(place.remaining_count, 0, "{receipt:?}");
        }
        let messages = receipt.places.iter().find(|place| place.name == "messages");
        // In all apps also what is said below.
        let expected = 5 + i64::from(everywhere);
        let messages = messages.unwrap().deleted_count;
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
