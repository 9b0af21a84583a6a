//! What an application gets by its base URL alone.

use memory_contract::proto::ListThreadsRequest;
use recollect_tests::{
    HttpAnswer, PLAIN, Provider, ProviderAnswer, ProviderApi, SOON, app, apply, eventually_some,
    target_user, trial,
};
use serde_json::{Value, json};

use super::{Proxy, history, memory, session_of};
use crate::plain;

/// A provider that answers each API with the same words.
fn words(text: &'static str) -> Provider {
    Provider::new(move |asked| {
        let api = ProviderApi::ALL
            .into_iter()
            .find(|api| asked.path == api.path());
        let id = uuid::Uuid::new_v4().to_string();
        api.unwrap().answer(&id, text)
    })
}

/// Asks again until something is recalled: what was stored a moment ago is found by its words at
/// once, but the machine may be busy.
async fn until_used(
    proxy: &Proxy,
    api: ProviderApi,
    body: &Value,
    headers: &[(&str, &str)],
) -> HttpAnswer {
    eventually_some("something is recalled", SOON, async || {
        let answer = proxy.ask(api, headers, body).await;
        (memory(&answer).0 == "used").then_some(answer)
    })
    .await
}

#[apply(trial)]
async fn a_request_that_is_refused_with_memory_is_sent_without_it() {
    let chat = ProviderApi::Chat;
    let provider =
        Provider::new(
            move |asked| match asked.text().contains("Each line below quotes") {
                true => ProviderAnswer::json(400, &json!({"error": {"message": "too long"}})),
                false => chat.answer(&uuid::Uuid::new_v4().to_string(), "Good."),
            },
        );
    let app = app();
    let args = ["--app", &app, "--user", "ada"];
    let proxy = Proxy::start(&provider, &PLAIN.ready().addr, &args);
    let first = chat.request(&["My dog is called Pixel."], None);
    proxy.ask(chat, &[], &first).await;
    proxy.stored(1).await;
    let body = chat.request(&["What is my dog called?"], None);
    let answer = eventually_some("memory is refused", SOON, async || {
        let answer = proxy.ask(chat, &[], &body).await;
        (memory(&answer).0 == "off").then_some(answer)
    })
    .await;
    assert_eq!(answer.status, 200);
    assert_eq!(memory(&answer), ("off", 0));
    assert_eq!(answer.headers["x-recollect-reason"], "refused with memory");
    assert_eq!(provider.last().text(), body.to_string());
    assert_eq!(proxy.count("requests_with_memory").await, 0);
}

#[apply(trial)]
async fn a_base_url_alone_gives_memory_in_a_second_session() {
    for api in ProviderApi::ALL {
        let provider = words("A fine name for a spaniel!");
        let app = app();
        let proxy = Proxy::start(&provider, &PLAIN.ready().addr, &["--app", &app]);

        let first = api.request(&["My dog is called Pixel."], Some("ada"));
        let answer = proxy.ask(api, &[], &first).await;
        assert_eq!(memory(&answer), ("none", 0), "{answer:?}");
        // Without memory, the request is what the application sent.
        assert_eq!(provider.last().text(), first.to_string());
        proxy.stored(1).await;
        let stored = history(&plain().await, &app, "ada", &session_of(&answer)).await;
        assert_eq!(
            stored,
            [
                "user: My dog is called Pixel.",
                "assistant: A fine name for a spaniel!"
            ]
        );

        let second = api.request(&["What is the name of my dog?"], Some("ada"));
        let answer = until_used(&proxy, api, &second, &[]).await;
        assert!(memory(&answer).1 >= 1);
        let asked = provider.last();
        assert!(asked.text().contains("Pixel"), "{}", asked.text());
        // It is quoted behind the question, and all else is as it was.
        let (before, after) = asked
            .text()
            .split_once(r"\n\nEach line below quotes")
            .unwrap();
        assert!(second.to_string().starts_with(before));
        assert!(second.to_string().ends_with(&after[after.len() - 8..]));
        assert_eq!(asked.headers["authorization"], "Bearer key-of-provider");
        assert_eq!(asked.headers["accept-encoding"], "identity");
    }
}

#[apply(trial)]
async fn two_users_never_share() {
    let provider = words("Noted.");
    let app = app();
    let proxy = Proxy::start(&provider, &PLAIN.ready().addr, &["--app", &app]);
    let chat = ProviderApi::Chat;
    let told = chat.request(&["The code of my safe is 4711."], Some("ada"));
    proxy.ask(chat, &[], &told).await;
    proxy.stored(1).await;
    let question = ["What is the code of my safe?"];
    let own = chat.request(&question, Some("ada"));
    until_used(&proxy, chat, &own, &[]).await;

    let check = async |body: &Value, headers: &[(&str, &str)], word: &str, reason: &str| {
        let answer = proxy.ask(chat, headers, body).await;
        assert_eq!(memory(&answer), (word, 0), "{headers:?}");
        let given = answer.headers.get("x-recollect-reason");
        assert_eq!(given.map_or("", |given| given.to_str().unwrap()), reason);
        assert_eq!(provider.last().text(), body.to_string(), "{headers:?}");
    };
    let eve = chat.request(&question, Some("eve"));
    check(&eve, &[], "none", "").await;
    let unnamed = chat.request(&question, None);
    check(&unnamed, &[], "off", "no user").await;
    // By another name each time: the questions are stored, too.
    check(&own, &[("x-recollect-user", "mallory")], "none", "").await;
    check(&own, &[("x-recollect-app", "another")], "none", "").await;
    // A look-up of the user that failed does not end in the memory of another.
    check(&own, &[("x-recollect-user", "")], "off", "invalid user").await;
    let twice = [("x-recollect-user", "ada"), ("x-recollect-user", "eve")];
    check(&own, &twice, "off", "invalid user").await;
    check(
        &own,
        &[("x-recollect-session", "user:eve")],
        "off",
        "invalid session",
    )
    .await;
    check(
        &own,
        &[("x-recollect-session", "global")],
        "off",
        "invalid session",
    )
    .await;
    // The headers of the proxy are for the proxy alone.
    let headers = [("x-recollect-user", "ada"), ("x-recollect-session", "s")];
    let answer = until_used(&proxy, chat, &unnamed, &headers).await;
    assert_eq!(session_of(&answer), "s");
    let asked = provider.last();
    let own = |name: &&http::HeaderName| name.as_str().starts_with("x-recollect");
    assert_eq!(asked.headers.keys().find(own), None);
}

#[apply(trial)]
async fn a_conversation_is_stored_once_however_often_it_is_sent() {
    let provider = Provider::new(|asked| {
        let body = asked.json();
        let newest = body["messages"].as_array().unwrap().last().unwrap();
        let text = newest["content"].as_str().unwrap();
        let word = text.split_whitespace().next().unwrap();
        let regenerated = asked.headers.contains_key("x-again");
        let text = format!(
            "{word}, answered{}",
            if regenerated { " again" } else { "" }
        );
        ProviderApi::Chat.answer(&uuid::Uuid::new_v4().to_string(), &text)
    });
    let app = app();
    let client = plain().await;
    let proxy = Proxy::start(&provider, &PLAIN.ready().addr, &["--app", &app]);
    let chat = ProviderApi::Chat;
    let ask = async |texts: &[&str], headers: &[(&str, &str)]| {
        let named = [("x-recollect-session", "s")];
        let all: Vec<(&str, &str)> = named.iter().chain(headers).copied().collect();
        let body = chat.request(texts, Some("ada"));
        assert_eq!(proxy.ask(chat, &all, &body).await.status, 200);
    };
    let now = async || history(&client, &app, "ada", "s").await;

    // A conversation that began elsewhere is stored with its first request.
    ask(&["one", "one, elsewhere", "two"], &[]).await;
    proxy.stored(1).await;
    let so_far = [
        "user: one",
        "assistant: one, elsewhere",
        "user: two",
        "assistant: two, answered",
    ];
    assert_eq!(now().await, so_far);
    // The same request again.
    ask(&["one", "one, elsewhere", "two"], &[]).await;
    eventually_some("the turn is known", SOON, async || {
        (proxy.count("turns_known").await == 1).then_some(())
    })
    .await;
    assert_eq!(now().await, so_far);
    // Another answer to it begins a branch.
    ask(&["one", "one, elsewhere", "two"], &[("x-again", "1")]).await;
    proxy.stored(2).await;
    let again = [
        "user: one",
        "assistant: one, elsewhere",
        "user: two",
        "assistant: two, answered again",
    ];
    assert_eq!(now().await, again);
    // A question that is replaced, too.
    ask(&["one", "one, elsewhere", "three"], &[]).await;
    proxy.stored(3).await;
    let edited = [
        "user: one",
        "assistant: one, elsewhere",
        "user: three",
        "assistant: three, answered",
    ];
    assert_eq!(now().await, edited);
    // It goes on.
    ask(
        &["one", "one, elsewhere", "three", "three, answered", "four"],
        &[],
    )
    .await;
    proxy.stored(4).await;
    assert_eq!(now().await.len(), 6);
    assert_eq!(proxy.count("turns_lost").await, 0);
}

#[apply(trial)]
async fn a_request_that_continues_a_response_is_stored_behind_it_once() {
    let responses = ProviderApi::Responses;
    // Gateways write routes into ids, which are then longer than an external id may be.
    let id = |word: &str| {
        format!(
            "{word}-{}",
            "x".repeat(if word == "two" { 300 } else { 40 })
        )
    };
    let provider = Provider::new(move |asked| {
        let body = asked.json();
        let newest = body["input"].as_array().unwrap().last().unwrap();
        let text = newest["content"].as_str().unwrap();
        let word = text.split_whitespace().next().unwrap();
        responses.answer(&id(word), &format!("{word}, answered"))
    });
    let app = app();
    let client = plain().await;
    let proxy = Proxy::start(
        &provider,
        &PLAIN.ready().addr,
        &["--app", &app, "--user", "ada"],
    );
    let ask = async |word: &str, previous: Option<&str>| {
        let mut body = responses.request(&[word], None);
        if let Some(previous) = previous {
            body["previous_response_id"] = json!(format!("resp_{}", id(previous)));
        }
        let answer = proxy.ask(responses, &[], &body).await;
        assert_eq!(answer.status, 200);
        session_of(&answer)
    };
    let session = ask("one", None).await;
    proxy.stored(1).await;
    for (turns, word, previous) in [(2, "two", "one"), (3, "three", "two")] {
        assert_eq!(ask(word, Some(previous)).await, session, "{word}");
        proxy.stored(turns).await;
    }
    let now = async || {
        let history = history(&client, &app, "ada", &session).await;
        let questions = history
            .iter()
            .filter_map(|text| text.strip_prefix("user: "));
        questions.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(now().await, ["one", "two", "three"]);
    // The same request again.
    ask("two", Some("one")).await;
    eventually_some("the turn is known", SOON, async || {
        (proxy.count("turns_known").await == 1).then_some(())
    })
    .await;
    assert_eq!(now().await, ["one", "two", "three"]);
    // Another question behind an earlier response begins a branch.
    ask("four", Some("one")).await;
    proxy.stored(4).await;
    assert_eq!(now().await, ["one", "four"]);
}

#[apply(trial)]
async fn each_conversation_of_a_user_has_its_own_thread() {
    let provider = words("Yes.");
    let app = app();
    let proxy = Proxy::start(
        &provider,
        &PLAIN.ready().addr,
        &["--app", &app, "--user", "ada"],
    );
    let chat = ProviderApi::Chat;
    for texts in [
        &["Is it raining?"][..],
        &["Is it raining?", "Yes.", "Still?"],
        &["Is it snowing?"],
    ] {
        proxy.ask(chat, &[], &chat.request(texts, None)).await;
    }
    proxy.stored(3).await;
    let client = plain().await;
    let threads = client.call(ListThreadsRequest {
        target: target_user(&app, "ada"),
        ..Default::default()
    });
    let mut counts: Vec<i64> = threads
        .await
        .threads
        .iter()
        .map(|thread| thread.message_count)
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [2, 4]);
}

#[apply(trial)]
async fn calls_of_tools_are_stored_with_their_results() {
    let call = json!({"id": "call_tide", "type": "function",
        "function": {"name": "tide", "arguments": "{\"port\": \"Bergen\"}"}});
    let asked_call = call.clone();
    let provider = Provider::new(move |asked| {
        let body = asked.json();
        let messages = body["messages"].as_array().unwrap();
        if messages.last().unwrap()["role"] == "tool" {
            return ProviderApi::Chat.answer(&uuid::Uuid::new_v4().to_string(), "High at six.");
        }
        let mut delta = asked_call.clone();
        delta["index"] = json!(0);
        let events: String = [
            json!({"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant",
                "content": null, "tool_calls": [delta]}, "finish_reason": null}]}),
            json!({"id": "c", "choices": [{"index": 0, "delta": {},
                "finish_reason": "tool_calls"}]}),
        ]
        .map(|data| format!("data: {data}\n\n"))
        .concat();
        ProviderAnswer::events(&format!("{events}data: [DONE]\n\n"), &[11, 90])
    });
    let app = app();
    let client = plain().await;
    let proxy = Proxy::start(
        &provider,
        &PLAIN.ready().addr,
        &["--app", &app, "--user", "ada"],
    );
    let chat = ProviderApi::Chat;
    let told = chat.request(&["My boat lies in Bergen."], None);
    proxy
        .ask(chat, &[("x-recollect-session", "old")], &told)
        .await;
    proxy.stored(1).await;

    let session = [("x-recollect-session", "new")];
    let mut body = chat.request(&["When is high water where my boat lies?"], None);
    body["stream"] = json!(true);
    let answer = until_used(&proxy, chat, &body, &session).await;
    let first = provider.last().json()["messages"][1].clone();
    assert!(first["content"].as_str().unwrap().contains("Bergen"));
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
    messages.push(json!({"role": "tool", "tool_call_id": "call_tide", "content": "06:00"}));
    let recalled = memory(&answer).1;
    let answer = proxy.ask(chat, &session, &body).await;
    // The next step of the turn begins with the same bytes.
    assert_eq!(memory(&answer), ("used", recalled));
    assert_eq!(provider.last().json()["messages"][1], first);
    let stored = eventually_some("the turn is stored", SOON, async || {
        let stored = history(&client, &app, "ada", "new").await;
        (stored.len() == 4).then_some(stored)
    })
    .await;
    assert_eq!(
        stored,
        [
            "user: When is high water where my boat lies?",
            r#"assistant: [call call_tide {"port": "Bergen"}]"#,
            "tool: [result call_tide]",
            "assistant: High at six.",
        ]
    );
}
