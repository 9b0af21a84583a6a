//! Commands that change a conversation, and the health probe.

use memory_contract::proto::{GetThreadRequest, Role, part::Content};
use recollect_tests::{
    Failure, Finished, Key, PLAIN, app, apply, by_id, free_addr, recollect, recollect_at,
    recollect_reading, session, texts, trial,
};
use serde_json::{Value, json};
use tonic::Code;

use crate::plain;

fn cli(args: &[&str]) -> Finished {
    recollect_at(&PLAIN.ready().addr, Key::Acme, args)
}

#[apply(trial)]
async fn a_turn_is_appended_from_the_command_line_once_per_request_id() {
    let client = plain().await;
    let app = app();
    let names = ["--app", &app, "--user", "ada", "--session", "thread:42"];
    let id = uuid::Uuid::new_v4().to_string();
    let turn = [
        "append",
        "My dog is called Pixel.",
        "--name",
        "Ada",
        "--metadata",
        "{\"channel\": \"mail\"}",
        "--reply",
        "A fine name!",
        "--request-id",
        &id,
    ];
    let args = [&turn[..], &names].concat();
    let first = cli(&args).ok().stdout;
    assert!(first.contains("it is new"), "{first}");
    let again = cli(&args).ok().stdout;
    assert!(again.contains("known already"), "{again}");

    let named = session(&app, "ada", "thread:42");
    let thread_id = client.resolve(named).await.thread_id;
    let more = ["append", "--thread", &thread_id, "Good.", "--json"];
    let more = [&more[..], &["--external-id", "m-3", "--role", "system"]].concat();
    let stored = cli(&more).ok().json();
    assert_eq!(stored["threadId"], json!(thread_id));
    assert_eq!(stored["messages"][0]["externalId"], "m-3");
    let replayed = cli(&more).ok().json();
    assert_eq!(replayed["replayed"], true);

    let messages = client.all_messages(&thread_id).await;
    assert_eq!(
        texts(&messages),
        ["My dog is called Pixel.", "A fine name!", "Good."]
    );
    let roles: Vec<Role> = messages.iter().map(|message| message.role()).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::System]);
    assert_eq!(messages[0].name, "Ada");
    assert!(recollect_tests::parsed(&messages[0].metadata).is_object());
}

#[apply(trial)]
async fn messages_are_appended_from_standard_input_all_or_none() {
    let client = plain().await;
    let app = app();
    let args = ["append", "--app", &app, "--user", "ada", "--session", "s"];
    let append = |lines: &[Value]| {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        recollect_reading(
            &PLAIN.ready().addr,
            Key::Acme,
            &args,
            &(lines.join("\n") + "\n\n"),
        )
    };
    let question = json!({"role": "user", "content": "How warm is it?", "external_id": "q1",
        "created_at": "2025-03-01T09:00:00Z"});
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function",
         "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "12 degrees"});
    let wrong = append(&[question.clone(), json!({"role": "nobody", "content": "x"})]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("line 2"), "{wrong:?}");
    let missing = GetThreadRequest {
        thread: Some(session(&app, "ada", "s").into()),
    };
    let refused = client.refused(missing).await;
    assert_eq!(refused.code, Code::NotFound, "nothing was stored");

    append(&[question, call, result]).ok();
    let thread_id = client.resolve(session(&app, "ada", "s")).await.thread_id;
    let messages = client.all_messages(&thread_id).await;
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[0].external_id, "q1");
    assert_eq!(messages[0].create_time.unwrap().seconds, 1_740_819_600);
    let Some(Content::ToolResult(result)) = &messages[2].parts[0].content else {
        panic!("{:?}", messages[2])
    };
    assert_eq!(result.name, "weather");
    let empty = append(&[]);
    assert_eq!(empty.code, Some(1), "{empty:?}");
}

#[apply(trial)]
async fn a_thread_is_deleted_when_that_is_confirmed() {
    let client = plain().await;
    let app = app();
    let named = session(&app, "ada", "thread:1");
    let thread_id = client.resolve(named).await.thread_id;
    client.append_turn(&thread_id, "Who?", "Ada.").await;
    let by_name = ["--app", &app, "--user", "ada", "--session", "thread:1"];
    let delete = [&["thread", "delete"], &by_name[..]].concat();
    // There is no terminal to ask on.
    let asked = cli(&delete);
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert!(asked.stderr.contains("--yes"), "{asked:?}");
    assert_eq!(client.all_messages(&thread_id).await.len(), 2);

    let deleted = cli(&[&delete[..], &["--yes"]].concat()).ok().stdout;
    assert!(deleted.contains("2 messages"), "{deleted}");
    let request = GetThreadRequest {
        thread: by_id(&thread_id),
    };
    let failure: Failure = client.refused(request).await;
    assert_eq!(failure.code, Code::NotFound);
    let again = cli(&["thread", "delete", &thread_id, "--yes"]);
    assert_eq!(again.code, Some(4), "{again:?}");
}

#[apply(trial)]
async fn health_is_asked_of_servers_and_their_services() {
    let addr = &PLAIN.ready().addr;
    let health = |args: &[&str]| {
        let url = format!("http://{addr}");
        recollect(&[&["health", "--addr", &url], args].concat(), &[])
    };
    // It takes no key.
    health(&[]).ok();
    let all = health(&["--service", "all", "--json"]).ok().json_lines();
    assert!(all.len() > 10, "{all:?}");
    for line in &all {
        assert_eq!(line["status"], "SERVING", "{line}");
    }
    let one = "recollect.v1.ThreadService";
    let shown = health(&["--service", one]).ok().stdout;
    assert!(shown.contains(one), "{shown}");
    assert_eq!(health(&["--service", "no.such.Service"]).code, Some(4));
    let none = format!("http://{}", free_addr());
    let gone = recollect(&["health", "--addr", &none], &[]);
    assert_eq!(gone.code, Some(3), "{gone:?}");

    let ready = health(&["--ready", &PLAIN.ready().metrics_addr, "--json"]);
    assert_eq!(ready.ok().json()["status"], "ready");
    // gRPC answers there, and it is no metrics address.
    let wrong = health(&["--ready", addr]);
    assert_eq!(wrong.code, Some(3), "{wrong:?}");
}
