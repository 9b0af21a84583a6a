//! Where a session's key comes from: the request, the agent, the call's metadata,
//! the app's shared default.

use memory_contract::proto::{
    AppendMessagesRequest, CreateThreadRequest, CreateThreadResponse, GetEffectivePolicyRequest,
    GetThreadRequest, ListMessagesRequest, ListThreadsRequest, MemoryPolicy,
    PutWorkingMemoryRequest, ResolveThreadRequest, ResolveThreadResponse, SessionKeySource,
    SessionRef,
};
use recollect_tests::{
    Client, Dynamic, Failure, Key, PLAIN, Refused as _, app, apply, by_session, seconds, session,
    target_app, target_session, texts, trial, turn,
};
use serde_json::json;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Response, Status};

use crate::plain;

const HEADER: &str = "x-recollect-session-id";

/// A request with a session key in its metadata.
fn with<T>(message: T, key: Option<&str>) -> Request<T> {
    let mut request = Request::new(message);
    if let Some(key) = key {
        let key = MetadataValue::try_from(key.as_bytes()).unwrap();
        request.metadata_mut().insert(HEADER, key);
    }
    request
}

fn keys(app: &str, user: &str, own: &str, agents: &str) -> SessionRef {
    SessionRef {
        agent_session_key: agents.to_owned(),
        ..session(app, user, own)
    }
}

async fn try_resolve(
    client: &Client,
    session: SessionRef,
    header: Option<&str>,
) -> Result<Response<ResolveThreadResponse>, Status> {
    let request = ResolveThreadRequest {
        session: Some(session),
        ..Default::default()
    };
    client.threads().resolve_thread(with(request, header)).await
}

async fn resolve(
    client: &Client,
    session: SessionRef,
    header: Option<&str>,
) -> ResolveThreadResponse {
    let answer = try_resolve(client, session, header).await;
    answer.unwrap().into_inner()
}

/// Checks that a call was refused because its session key leaves no place for this user, and
/// that the message says what to do.
#[track_caller]
pub(super) fn leaves_user_out(refused: Failure) {
    let refused = refused.is(Code::InvalidArgument, "INVALID_FIELD");
    assert_eq!(refused.fields.len(), 1, "{refused:?}");
    let problem = &refused.fields[0].1;
    assert!(
        problem.contains("leave") && problem.contains("user_id"),
        "{refused:?}"
    );
}

/// The keys of all threads of an app.
async fn stored(client: &Client, app: &str) -> Vec<String> {
    let request = ListThreadsRequest {
        target: target_app(app),
        page_size: 500,
        ..Default::default()
    };
    let threads = client.call(request).await.threads;
    threads.into_iter().map(|one| one.session_key).collect()
}

async fn share(client: &Client, app: &str, shared: bool) {
    let policy = MemoryPolicy {
        shared_session_default: Some(shared),
        ..Default::default()
    };
    client.set_policy(app, policy).await;
}

#[apply(trial)]
async fn t08_all_forms_of_a_key_work_wherever_it_comes_from() {
    let client = plain().await;
    let app = app();
    for (key, user, expected) in [
        ("user:ada", "", "ada"),
        ("user:ada", "ada", "ada"),
        ("thread:1", "ada", "ada"),
        ("session:1", "ada", "ada"),
        ("global", "", ""),
        ("anything at all", "ada", "ada"),
    ] {
        let own = resolve(&client, keys(&app, user, key, ""), None).await;
        let thread = own.thread.unwrap();
        assert_eq!(
            (thread.user_id.as_str(), thread.session_key.as_str()),
            (expected, key)
        );
        let agents = resolve(&client, keys(&app, user, "", key), None).await;
        let header = resolve(&client, keys(&app, user, "", ""), Some(key)).await;
        for (found, source) in [
            (agents, SessionKeySource::Agent),
            (header, SessionKeySource::Metadata),
        ] {
            assert!(!found.created);
            assert_eq!(found.session_key_source(), source);
            assert_eq!(found.thread.unwrap().thread_id, thread.thread_id);
        }
    }
    // A user's id in a key has the limit of a user's id.
    let long = format!("user:{}", "x".repeat(257));
    let refused = try_resolve(&client, keys(&app, "", &long, ""), None).await;
    refused.refused().names_field("session.session_key");
    let refused = try_resolve(&client, keys(&app, "", "", &long), None).await;
    refused.refused().names_field("session.agent_session_key");
    let refused = try_resolve(&client, keys(&app, "", "", ""), Some(&long)).await;
    refused.refused().names_field(HEADER);
    let long = "x".repeat(513);
    let refused = try_resolve(&client, keys(&app, "", "k", &long), None).await;
    refused.refused().names_field("session.agent_session_key");
}

#[apply(trial)]
async fn t08_a_key_that_contradicts_the_user_is_refused_and_stores_nothing() {
    let client = plain().await;
    let app = app();
    share(&client, &app, true).await;
    for (key, user) in [
        ("global".to_owned(), "ada"),
        (format!("agent_memory:{app}"), "ada"),
        ("user:bob".to_owned(), "ada"),
        ("user:Ada".to_owned(), "ada"),
    ] {
        // Wherever the key comes from.
        let ways = [
            (keys(&app, user, &key, ""), None),
            (keys(&app, user, "", &key), None),
            (keys(&app, user, "", ""), Some(key.as_str())),
        ];
        for (session, header) in ways {
            let refused = try_resolve(&client, session.clone(), header).await;
            leaves_user_out(refused.refused());
            let create = CreateThreadRequest {
                session: Some(session.clone()),
                ..Default::default()
            };
            leaves_user_out(client.refused(with(create, header)).await);
            let append = AppendMessagesRequest {
                thread: by_session(session.clone()),
                messages: turn("Q", "A"),
                ..Default::default()
            };
            leaves_user_out(client.refused(with(append, header)).await);
            let put = PutWorkingMemoryRequest {
                thread: by_session(session.clone()),
                summary: Some("They met.".to_owned()),
                ..Default::default()
            };
            leaves_user_out(client.refused(with(put, header)).await);
            let get = GetThreadRequest {
                thread: by_session(session.clone()),
            };
            leaves_user_out(client.refused(with(get, header)).await);
            let list = ListMessagesRequest {
                target: target_session(session),
                ..Default::default()
            };
            leaves_user_out(client.refused(with(list, header)).await);
        }
    }
    // Of an import, the refusals are answers.
    let request = json!({
        "thread": {"session": {"app_id": app, "user_id": "ada", "session_key": "global"}},
        "messages": [{"role": "ROLE_USER", "parts": [{"text": "Q"}]}],
    });
    let answer = Dynamic::call(&client, "MessageService/ImportMessages", request).await;
    let answer = answer.unwrap().into_inner().remove(0);
    let error = &answer["error"];
    assert_eq!(error["reason"], json!("ERROR_REASON_INVALID_FIELD"));
    assert!(
        error["message"].as_str().unwrap().contains("user_id"),
        "{answer}"
    );
    assert!(stored(&client, &app).await.is_empty());
    assert_eq!(client.all_memories(&app, "ada").await, []);
}

#[apply(trial)]
async fn t09_the_calls_metadata_names_the_session() {
    let client = plain().await;
    let app = app();
    let session = keys(&app, "ada", "", "");
    let created = CreateThreadRequest {
        session: Some(session.clone()),
        policy: Some(MemoryPolicy {
            top_k: Some(9),
            ..Default::default()
        }),
        ..Default::default()
    };
    let created = with(created, Some("visit 7"));
    let created: CreateThreadResponse = client.call(created).await;
    assert_eq!(created.session_key_source(), SessionKeySource::Metadata);
    let thread = created.thread.unwrap();
    assert_eq!(thread.session_key, "visit 7");
    client.append_turn(&thread.thread_id, "Q", "A").await;

    let found = resolve(&client, session.clone(), Some("visit 7")).await;
    assert_eq!(found.thread.unwrap().thread_id, thread.thread_id);
    let request = GetThreadRequest {
        thread: by_session(session.clone()),
    };
    let found = client.call(with(request.clone(), Some("visit 7"))).await;
    assert_eq!(found.thread.unwrap().thread_id, thread.thread_id);
    let other = client.refused(with(request, Some("visit 8"))).await;
    other.is(Code::NotFound, "THREAD_NOT_FOUND");
    let request = ListMessagesRequest {
        target: target_session(session.clone()),
        page_size: 1,
        ..Default::default()
    };
    let page = client.call(with(request.clone(), Some("visit 7"))).await;
    assert_eq!(texts(&page.messages), ["Q"]);
    // A page token belongs to its session.
    let request = ListMessagesRequest {
        page_token: page.next_page_token,
        ..request
    };
    let next = client.call(with(request.clone(), Some("visit 7"))).await;
    assert_eq!(texts(&next.messages), ["A"]);
    let others = client.refused(with(request, Some("visit 8"))).await;
    others.names_field("page_token");
    let request = GetEffectivePolicyRequest {
        target: target_session(session),
        ..Default::default()
    };
    let policy = client.call(with(request, Some("visit 7"))).await;
    let policy = policy.effective_policy.unwrap();
    assert_eq!(policy.policy.unwrap().top_k, Some(9));
}

#[apply(trial)]
async fn t09_a_key_in_the_metadata_has_to_be_one_text() {
    let client = plain().await;
    let app = app();
    let unicode = resolve(&client, keys(&app, "", "", ""), Some("Grüße 你好")).await;
    assert_eq!(unicode.thread.unwrap().session_key, "Grüße 你好");
    let request = || ResolveThreadRequest {
        session: Some(keys(&app, "ada", "", "")),
        ..Default::default()
    };
    let long = "x".repeat(513);
    for bytes in [b"".as_slice(), b"\xff\xfe", long.as_bytes()] {
        let mut request = Request::new(request());
        let value = MetadataValue::try_from(bytes).unwrap();
        request.metadata_mut().insert(HEADER, value);
        client.refused(request).await.names_field(HEADER);
    }
    let mut twice = Request::new(request());
    for key in ["one", "two"] {
        twice.metadata_mut().append(HEADER, key.parse().unwrap());
    }
    client.refused(twice).await.names_field(HEADER);
    // If it is not needed, it is not validated.
    let found = resolve(&client, keys(&app, "ada", "own", ""), Some(&long)).await;
    assert_eq!(found.session_key_source(), SessionKeySource::Session);
}

#[apply(trial)]
async fn t10_the_most_specific_key_wins() {
    let client = plain().await;
    let app = app();
    share(&client, &app, true).await;
    let shared = format!("agent_memory:{app}");
    for own in ["own", ""] {
        for agents in ["agents", ""] {
            for header in [Some("header"), None] {
                let (key, source) = match (own, agents, header) {
                    ("", "", None) => (shared.as_str(), SessionKeySource::SharedDefault),
                    ("", "", Some(key)) => (key, SessionKeySource::Metadata),
                    ("", key, _) => (key, SessionKeySource::Agent),
                    (key, ..) => (key, SessionKeySource::Session),
                };
                let found = resolve(&client, keys(&app, "ada", own, agents), header).await;
                assert_eq!(found.session_key_source(), source);
                assert_eq!(found.thread.unwrap().session_key, key);
            }
        }
    }
}

#[apply(trial)]
async fn t11_without_a_key_and_without_a_policy_there_is_an_error() {
    let client = plain().await;
    let (app, other) = (app(), app());
    // Policies of other apps and tenants do not apply.
    share(&client, &other, true).await;
    share(&PLAIN.client(Key::Globex).await, &app, true).await;
    let none = keys(&app, "ada", "", "");
    let written = keys(&app, "", &format!("agent_memory:{app}"), "");
    let check = async || {
        let refused = try_resolve(&client, none.clone(), None).await.refused();
        let refused = refused.names_field("session.session_key");
        for way in [
            "agent_session_key",
            HEADER,
            "flow_session_default",
            "shared_session_default",
            "1 to 512",
        ] {
            assert!(refused.message.contains(way), "{refused:?}");
        }
        let request = GetThreadRequest {
            thread: by_session(none.clone()),
        };
        let refused = client.refused(request).await;
        refused.names_field("thread.session.session_key");
        let request = ListMessagesRequest {
            target: target_session(none.clone()),
            ..Default::default()
        };
        let refused = client.refused(request).await;
        refused.names_field("target.thread.session.session_key");

        // The shared key cannot be taken by writing it out either.
        let refused = try_resolve(&client, written.clone(), None).await.refused();
        let refused = refused.names_field("session.session_key");
        assert!(refused.message.contains("shared_session_default"));
        let agents = keys(&app, "", "", &written.session_key);
        let refused = try_resolve(&client, agents, None).await.refused();
        refused.names_field("session.agent_session_key");
        let refused = try_resolve(&client, keys(&app, "", "", ""), Some(&written.session_key));
        refused.await.refused().names_field(HEADER);
        let request = CreateThreadRequest {
            session: Some(written.clone()),
            ..Default::default()
        };
        let refused = client.refused(request).await;
        refused.names_field("session.session_key");
    };
    check().await;
    share(&client, &app, false).await;
    check().await;
    assert!(stored(&client, &app).await.is_empty());
    // Another app's shared key is a text like any other.
    let others = keys(&app, "ada", &format!("agent_memory:{other}"), "");
    let found = resolve(&client, others, None).await.thread.unwrap();
    assert_eq!(
        (found.app_id.as_str(), found.user_id.as_str()),
        (app.as_str(), "ada")
    );
}

#[apply(trial)]
async fn t11_an_app_may_share_one_thread_between_all_users() {
    let client = plain().await;
    let app = app();
    share(&client, &app, true).await;
    let first = resolve(&client, keys(&app, "ada", "", ""), None).await;
    assert!(first.created);
    assert_eq!(first.session_key_source(), SessionKeySource::SharedDefault);
    let thread = first.thread.unwrap();
    assert_eq!(thread.session_key, format!("agent_memory:{app}"));
    assert_eq!(thread.user_id, "", "it belongs to no user");
    let second = resolve(&client, keys(&app, "bob", "", ""), None).await;
    assert_eq!(second.thread.as_ref(), Some(&thread));
    let written = keys(&app, "", &thread.session_key, "");
    let third = resolve(&client, written.clone(), None).await;
    assert_eq!(third.session_key_source(), SessionKeySource::Session);
    assert_eq!(third.thread.as_ref(), Some(&thread));
    let request = GetThreadRequest {
        thread: by_session(keys(&app, "", "", "")),
    };
    let found = client.call(request).await;
    assert_eq!(found.thread.as_ref(), Some(&thread));
    // Written out, it leaves no place for a user.
    let of_eve = keys(&app, "eve", &thread.session_key, "");
    leaves_user_out(try_resolve(&client, of_eve, None).await.refused());
    assert_eq!(
        stored(&client, &app).await,
        std::slice::from_ref(&thread.session_key)
    );

    // Without the policy the way to it is closed again.
    client.delete_policy(&app).await;
    let refused = try_resolve(&client, keys(&app, "ada", "", ""), None).await;
    refused.refused().names_field("session.session_key");
    let refused = try_resolve(&client, written, None).await;
    refused.refused().names_field("session.session_key");
}

#[apply(trial)]
async fn t15_apps_share_a_memory_only_by_the_same_app_id() {
    let client = plain().await;
    let (app, other) = (app(), app());
    let of = async |app: &str| {
        let found = resolve(&client, keys(app, "ada", "thread:1", ""), None).await;
        found.thread.unwrap().thread_id
    };
    let first = of(&app).await;
    client.append_turn(&first, "Q", "A").await;
    assert_ne!(of(&other).await, first);
    assert!(client.all_messages(&of(&other).await).await.is_empty());
    // Two workflows that give one app id meet.
    assert_eq!(of(&app).await, first);
    for app in [&app, &other] {
        share(&client, app, true).await;
    }
    let shared = async |app: &str| {
        let found = resolve(&client, keys(app, "ada", "", ""), None).await;
        found.thread.unwrap().thread_id
    };
    assert_ne!(shared(&app).await, shared(&other).await);
    assert_eq!(shared(&app).await, shared(&app).await);
}

#[apply(trial)]
async fn l09_own_session_ids_need_no_policy_and_the_default_session_is_the_flows() {
    let client = plain().await;
    let flow = app();
    let chat = async |key: &str, question: &str| {
        let request = AppendMessagesRequest {
            thread: by_session(session(&flow, "", key)),
            messages: turn(question, "Noted."),
            ..Default::default()
        };
        client.call(request).await.thread_id
    };
    let said = async |thread_id: &str| texts(&client.all_messages(thread_id).await);
    // Session ids of the caller's own, without any policy.
    let ada = chat("user:ada", "I am Ada.").await;
    let bob = chat("user:bob", "I am Bob.").await;
    let visit = chat("visit 7", "I am a guest.").await;
    assert_eq!(said(&ada).await, ["I am Ada.", "Noted."]);
    assert_eq!(said(&bob).await, ["I am Bob.", "Noted."]);
    assert_eq!(said(&visit).await, ["I am a guest.", "Noted."]);
    assert_eq!(client.get_thread(&ada).await.user_id, "ada");
    assert_eq!(client.get_thread(&bob).await.user_id, "bob");

    // A request without a key fails, and the error names each way to give one.
    let without_key = AppendMessagesRequest {
        thread: by_session(session(&flow, "", "")),
        messages: turn("And I?", "Noted."),
        ..Default::default()
    };
    let refused = client.refused(without_key).await;
    let refused = refused.names_field("thread.session.session_key");
    let reason = &refused.fields[0].1;
    for way in [
        "agent_session_key",
        HEADER,
        "flow_session_default",
        "shared_session_default",
    ] {
        assert!(reason.contains(way), "{way}: {refused:?}");
    }

    // Marked as a flow, the app has a default session: the flow's id is its key.
    let marked = MemoryPolicy {
        flow_session_default: Some(true),
        ..Default::default()
    };
    client.set_policy(&flow, marked).await;
    let default = chat("", "I have no session id.").await;
    let thread = client.get_thread(&default).await;
    assert_eq!(
        (thread.session_key.as_str(), thread.user_id.as_str()),
        (flow.as_str(), "")
    );
    assert_eq!(said(&default).await, ["I have no session id.", "Noted."]);
    // Own session ids remain apart from it.
    assert_eq!(chat("user:ada", "It is Ada again.").await, ada);
    assert_eq!(
        said(&ada).await,
        ["I am Ada.", "Noted.", "It is Ada again.", "Noted."]
    );
    assert_eq!(said(&default).await.len(), 2);

    // One conversation of all users is `global`, which belongs to none of them.
    let global = chat("global", "Hello, everybody.").await;
    assert_eq!(chat("global", "Hello again.").await, global);
    assert_eq!(client.get_thread(&global).await.user_id, "");
    let of_ada = AppendMessagesRequest {
        thread: by_session(session(&flow, "ada", "global")),
        messages: turn("Is this mine?", "No."),
        ..Default::default()
    };
    leaves_user_out(client.refused(of_ada).await);
    let hello = ["Hello, everybody.", "Noted.", "Hello again.", "Noted."];
    assert_eq!(said(&global).await, hello);
}

#[apply(trial)]
async fn l09_the_shared_default_session_is_apart_from_own_session_ids() {
    let client = plain().await;
    let flow = app();
    share(&client, &flow, true).await;
    let default = resolve(&client, keys(&flow, "", "", ""), None).await;
    let default = default.thread.unwrap();
    assert_eq!(default.session_key, format!("agent_memory:{flow}"));
    client.append_turn(&default.thread_id, "All", "see").await;
    let mut seen = vec![default.thread_id];
    for user in ["ada", "bob"] {
        let own = resolve(&client, keys(&flow, "", &format!("user:{user}"), ""), None).await;
        let own = own.thread.unwrap();
        assert_eq!(own.user_id, user);
        assert!(client.all_messages(&own.thread_id).await.is_empty());
        client.append_turn(&own.thread_id, user, "sees").await;
        seen.push(own.thread_id);
    }
    let first: Vec<String> = futures::future::join_all(
        seen.iter()
            .map(async |id| texts(&client.all_messages(id).await)[0].clone()),
    )
    .await;
    assert_eq!(first, ["All", "ada", "bob"]);
}

#[apply(trial)]
async fn a_new_thread_never_falls_back_to_the_shared_default() {
    let client = plain().await;
    let app = app();
    share(&client, &app, true).await;
    let create = async || {
        let request = CreateThreadRequest {
            session: Some(keys(&app, "ada", "", "")),
            ..Default::default()
        };
        let created = client.call(request).await;
        assert_eq!(created.session_key_source(), SessionKeySource::Generated);
        let thread = created.thread.unwrap();
        assert!(thread.session_key.starts_with("session:"));
        assert_eq!(thread.user_id, "ada");
        thread.session_key
    };
    assert_ne!(create().await, create().await);
    let request = CreateThreadRequest {
        session: Some(keys(&app, "ada", "", "agents")),
        ttl: Some(seconds(60)),
        ..Default::default()
    };
    let created = client.call(request).await;
    assert_eq!(created.session_key_source(), SessionKeySource::Agent);
    assert_eq!(created.thread.unwrap().session_key, "agents");
}

#[apply(trial)]
async fn an_import_names_each_session_itself() {
    let client = plain().await;
    let app = app();
    let import = async |session: serde_json::Value| {
        let request = json!({
            "thread": {"session": session},
            "messages": [{"role": "ROLE_USER", "parts": [{"text": "Q"}]}],
        });
        let answer = Dynamic::call(&client, "MessageService/ImportMessages", request).await;
        answer.unwrap().into_inner().remove(0)
    };
    let agents = import(json!({"app_id": app, "agent_session_key": "agents"})).await;
    let thread = resolve(&client, keys(&app, "", "agents", ""), None).await;
    let thread = thread.thread.unwrap();
    assert_eq!(agents["imported"]["thread_id"], json!(thread.thread_id));
    let missing = import(json!({"app_id": app})).await;
    let field = json!("thread.session.session_key");
    assert_eq!(missing["error"]["field"], field);
    share(&client, &app, true).await;
    let shared = import(json!({"app_id": app})).await;
    let thread = resolve(&client, keys(&app, "", "", ""), None).await;
    assert_eq!(
        shared["imported"]["thread_id"],
        json!(thread.thread.unwrap().thread_id)
    );
}
