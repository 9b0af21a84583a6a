//! Who said a message.

use memory_contract::proto::{
    AppendMessagesRequest, CreateApiKeyRequest, KeyBounds, KeyScope, ListMessagesRequest,
    MessageFilter, MessageInput, Role, SearchRequest,
};
use recollect_tests::{
    Client, PLAIN, SOON, app, apply, by_id, eventually, say, search_request, target_app,
    target_thread, target_user, texts, trial,
};
use tonic::Code;

use super::{extract_facts, said_by};
use crate::plain;

fn of_users(users: &[&str]) -> Option<MessageFilter> {
    Some(MessageFilter {
        user_ids: users.iter().map(|&user| user.to_owned()).collect(),
        ..Default::default()
    })
}

/// A talk of Ada, whose thread it is, with Bob and an assistant.
async fn sailing(client: &Client, app: &str) -> String {
    let thread_id = client.thread(app).await;
    let said = vec![
        say(Role::User, "Is the boat dry?"),
        MessageInput {
            name: "Bob".to_owned(),
            ..said_by("bob", "And the sail of the boat?")
        },
        say(Role::Assistant, "Both are, boat and sail."),
    ];
    client.append(&thread_id, said).await;
    thread_id
}

#[apply(trial)]
async fn f16_who_said_a_message_is_returned_and_selects_it() {
    let client = plain().await;
    let app = app();
    let thread_id = sailing(&client, &app).await;
    let all = client.all_messages(&thread_id).await;
    let users: Vec<&str> = all.iter().map(|message| &*message.user_id).collect();
    assert_eq!(users, ["", "bob", ""]);
    assert_eq!(all[1].name, "Bob");
    for target in [
        target_thread(&thread_id),
        target_user(&app, "ada"),
        target_app(&*app),
    ] {
        let list = async |users: &[&str]| {
            let request = ListMessagesRequest {
                target: target.clone(),
                filter: of_users(users),
                ..Default::default()
            };
            texts(&client.list(request).await)
        };
        assert_eq!(list(&["bob", "eve"]).await, ["And the sail of the boat?"]);
        // The thread's user is not named in messages.
        assert!(list(&["ada"]).await.is_empty());
    }
    for (users, expected) in [(&["bob"], 1), (&["eve"], 0)] {
        let request = SearchRequest {
            filter: of_users(users),
            ..search_request(&thread_id, "boat", "")
        };
        let found = client.search(request).await;
        assert_eq!(found.matches.len(), expected, "{found:?}");
    }
    let too_many = ListMessagesRequest {
        target: target_thread(&thread_id),
        filter: of_users(&["bob"; 33]),
        ..Default::default()
    };
    client
        .refused(too_many)
        .await
        .names_field("filter.user_ids");
}

#[apply(trial)]
async fn f16_another_speaker_is_other_content() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let append = |user: &str| AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: vec![MessageInput {
            external_id: "m1".to_owned(),
            ..said_by(user, "Is the boat dry?")
        }],
        ..Default::default()
    };
    assert!(!client.call(append("bob")).await.replayed);
    assert!(client.call(append("bob")).await.replayed);
    for user in ["ada", ""] {
        let refused = client.refused(append(user)).await;
        assert_eq!(refused.code, Code::AlreadyExists, "{refused:?}");
    }
    // What a model says is no user's.
    let answer = AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: vec![MessageInput {
            user_id: "bob".to_owned(),
            ..say(Role::Assistant, "It is.")
        }],
        ..Default::default()
    };
    client
        .refused(answer)
        .await
        .names_field("messages[0].user_id");
}

#[apply(trial)]
async fn f16_a_bound_key_says_nothing_in_the_name_of_another_user() {
    let admin = plain().await;
    let app = app();
    extract_facts(&admin, &app).await;
    let thread_id = sailing(&admin, &app).await;
    let key = CreateApiKeyRequest {
        name: format!("bound-{app}"),
        scopes: [KeyScope::Read, KeyScope::Write, KeyScope::Delete]
            .map(i32::from)
            .to_vec(),
        bounds: Some(KeyBounds {
            app_ids: vec![app.clone()],
            user_ids: vec!["ada".to_owned()],
            ..Default::default()
        }),
        ..Default::default()
    };
    let secret = admin.call(key).await.secret;
    let header = format!("Bearer {secret}");
    let ada = Client::with_authorization(&PLAIN.ready().addr, Some(&header)).await;
    let append = |user: &str| AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: vec![said_by(user, "I prefer trains to planes.")],
        ..Default::default()
    };
    let refused = ada.refused(append("bob")).await;
    let refused = refused.is(Code::PermissionDenied, "OUT_OF_BOUNDS");
    assert!(
        refused.message.contains("messages[0].user_id"),
        "{refused:?}"
    );
    ada.call(append("ada")).await;

    // In her own thread she may still delete what Bob said, with what was made of it.
    let bobs = admin.call(append("bob")).await.messages.remove(0);
    admin.extracted(&thread_id).await;
    assert_eq!(admin.all_memories(&app, "bob").await.len(), 1);
    assert_eq!(ada.all_memories(&app, "ada").await.len(), 1);
    ada.delete_message(&thread_id, &bobs.message_id).await;
    eventually("Bob's fact is gone", SOON, async || {
        admin.all_memories(&app, "bob").await.is_empty()
    })
    .await;
    assert_eq!(ada.all_memories(&app, "ada").await.len(), 1);
}
