//! Choosing models, and invalid configurations of them.

use std::fs;

use memory_contract::proto::{
    BreakerState, DeleteSecretRequest, ExtractionStrategy, LedgerKind, LedgerState, MemoryMode,
    MemoryPolicy, Message, ModelProvider, ModelPurpose, PutWorkingMemoryRequest, Role,
    SetSecretRequest, TextOrigin,
};
use recollect_tests::{
    Answering, Client, DataDir, Finished, Key, LanguageModel, Options, SOON, Server, app, apply,
    by_id, check_model_request, eventually, eventually_some, recollect, say, trial_with_own_server,
};

use super::{extract, extracting, known, mending, small, start, status, thread};
use crate::distill::ledger::{list, observations};

/// Checks a configuration as `recollect config` does.
fn config(dir: &DataDir, lines: &[&str], env: &[(&str, &str)]) -> Finished {
    let file = dir.path().join("models.toml");
    fs::write(&file, lines.join("\n")).unwrap();
    recollect(&["config", "--config", file.to_str().unwrap()], env)
}

#[apply(trial_with_own_server)]
async fn r04_the_generation_model_is_the_one_that_is_configured() {
    let (dir, model, _server, client, app) = extracting(
        ExtractionStrategy::Discrete,
        &["distill.generation.api_key = \"a-private-key\""],
    )
    .await;
    let thread_id = client.thread(&app).await;
    client
        .append_turn(&thread_id, "FACT(Ada sings.)", "La.")
        .await;
    assert_eq!(known(&client, &app, "ada", "sings").await.made_by, "large");
    let [asked] = &model.asked_about("sings")[..] else {
        panic!("asked once")
    };
    assert_eq!(
        (asked.model.as_str(), asked.key.as_str()),
        ("large", "a-private-key")
    );
    let models = status(&client).await.models;
    for (status, purpose) in models
        .iter()
        .zip([ModelPurpose::Generation, ModelPurpose::Observation])
    {
        assert_eq!(status.purpose(), purpose);
        assert_eq!(
            (status.provider(), status.model.as_str()),
            (ModelProvider::OpenaiCompatible, "large")
        );
        assert_eq!(
            (status.breaker(), status.last_error.as_str()),
            (BreakerState::Closed, "")
        );
    }
    assert!(!dir.log().contains("a-private-key"));
}

#[apply(trial_with_own_server)]
async fn a_tenant_with_a_key_of_its_own_pays_for_its_own_calls() {
    let (dir, model, server, acme, app) = extracting(
        ExtractionStrategy::Discrete,
        &[
            "distill.generation.api_key = \"key-of-all\"",
            "distill.generation.tenant_key_secret = \"openai-key\"",
            "secrets.key = \"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\"",
        ],
    )
    .await;
    let globex = server.client(Key::Globex).await;
    extract(&globex, &app, ExtractionStrategy::Discrete).await;
    let key = |value: &str| SetSecretRequest {
        name: "openai-key".to_owned(),
        value: value.to_owned(),
    };
    globex.call(key("key-of-globex")).await;
    for (client, said, expected) in [
        (&acme, "sings", "key-of-all"),
        (&globex, "rows", "key-of-globex"),
    ] {
        let thread_id = client.thread(&app).await;
        let fact = format!("FACT(Ada {said}.)");
        client.append_turn(&thread_id, &fact, "La.").await;
        known(client, &app, "ada", said).await;
        let asked = model.asked_about(said);
        assert!(
            !asked.is_empty() && asked.iter().all(|one| one.key == expected),
            "{asked:?}"
        );
    }

    // A new key counts from the next call on; without one, that of the server does.
    globex.call(key("next-key-of-globex")).await;
    let thread_id = globex.thread(&app).await;
    globex
        .append_turn(&thread_id, "FACT(Ada swims.)", "La.")
        .await;
    known(&globex, &app, "ada", "swims").await;
    assert_eq!(model.asked_about("swims")[0].key, "next-key-of-globex");
    let gone = DeleteSecretRequest {
        name: "openai-key".to_owned(),
    };
    assert!(globex.call(gone).await.deleted);
    globex
        .append_turn(&thread_id, "FACT(Ada paints.)", "La.")
        .await;
    known(&globex, &app, "ada", "paints").await;
    assert_eq!(model.asked_about("paints")[0].key, "key-of-all");
    for key in ["key-of-all", "key-of-globex"] {
        assert!(!dir.log().contains(key), "{key} is logged");
    }
}

#[apply(trial_with_own_server)]
async fn a_tenant_without_any_key_does_not_stop_the_model_for_others() {
    let (_dir, model, server, acme, app) = extracting(
        ExtractionStrategy::Discrete,
        &[
            "distill.generation.tenant_key_secret = \"openai-key\"",
            "distill.calls.breaker_failures = 1",
            "worker.distill.model_attempts = 1",
            "secrets.key = \"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\"",
        ],
    )
    .await;
    let globex = server.client(Key::Globex).await;
    extract(&globex, &app, ExtractionStrategy::Discrete).await;
    let key = SetSecretRequest {
        name: "openai-key".to_owned(),
        value: "key-of-globex".to_owned(),
    };
    globex.call(key).await;

    // Without a key the model is not asked; the built-in algorithm answers.
    let thread_id = acme.thread(&app).await;
    acme.append_turn(&thread_id, "I live in Bergen.", "How nice.")
        .await;
    let fact = known(&acme, &app, "ada", "Bergen").await;
    assert_eq!(fact.made_by, "");
    assert!(model.asked_about("Bergen").is_empty());
    let thread_id = globex.thread(&app).await;
    globex
        .append_turn(&thread_id, "FACT(Ada rows.)", "La.")
        .await;
    assert_eq!(known(&globex, &app, "ada", "rows").await.made_by, "large");
    let models = status(&globex).await.models;
    assert_eq!(models[0].breaker(), BreakerState::Closed);
}

#[apply(trial_with_own_server)]
async fn r05_a_summary_prompt_without_a_placeholder_is_refused_at_the_start() {
    let dir = DataDir::new();
    for (prompt, missing) in [
        ("Sum up {prev_summary}", "{messages_joined}"),
        ("Sum up {messages_joined}", "{prev_summary}"),
        ("Sum up", "{prev_summary}"),
        ("", "{messages_joined}"),
    ] {
        let line = format!("distill.summary_prompt = \"{prompt}\"");
        let refused = config(&dir, &[&line], &[]);
        assert_eq!(refused.code, Some(5), "{refused:?}");
        for part in ["distill.summary_prompt", "models.toml", missing] {
            assert!(refused.stderr.contains(part), "{part}: {refused:?}");
        }
        let refused = config(&dir, &[], &[("RECOLLECT_DISTILL__SUMMARY_PROMPT", prompt)]);
        assert_eq!(refused.code, Some(5), "{refused:?}");
        let problem = Server::try_start(&dir, &Options::with(&[&line]))
            .err()
            .unwrap();
        assert!(problem.contains("distill.summary_prompt"), "{problem}");
        assert!(problem.contains(missing), "{problem}");
    }
    let good = "distill.summary_prompt = \"After {prev_summary} came {messages_joined}\"";
    config(&dir, &[good], &[]).ok();
}

#[apply(trial_with_own_server)]
async fn r16_each_provider_is_asked_in_its_own_protocol_and_by_its_schema() {
    for (provider, base, path) in [
        ("openai", "/v1", "/v1/chat/completions"),
        ("openai_compatible", "/v1", "/v1/chat/completions"),
        ("anthropic", "/v1", "/v1/messages"),
        ("bedrock", "", "/model/large/converse"),
    ] {
        let (dir, model) = (DataDir::new(), LanguageModel::new());
        let lines = [
            format!("distill.generation.provider = \"{provider}\""),
            "distill.generation.model = \"large\"".to_owned(),
            format!("distill.generation.endpoint = \"{}\"", model.endpoint(base)),
            "distill.generation.api_key = \"key-1\"".to_owned(),
            "worker.distill.poll_interval = \"50ms\"".to_owned(),
            "worker.distill.quiet = \"50ms\"".to_owned(),
            "embedding.kind = \"none\"".to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let server = Server::start(&dir, &Options::with(&lines));
        let client = server.client(Key::Acme).await;
        let app = app();
        extract(&client, &app, ExtractionStrategy::Discrete).await;
        let thread_id = client.thread(&app).await;
        client
            .append_turn(&thread_id, "FACT(Ada sails.)", "Ahoy.")
            .await;
        let fact = known(&client, &app, "ada", "sails").await;
        assert_eq!(fact.made_by, "large", "{provider}");
        let asked = model.asked();
        assert_eq!(
            (asked[0].path.as_str(), asked[0].key.as_str()),
            (path, "key-1"),
            "{provider}"
        );
        // A summary and observations are asked for too, in the same way.
        let summarized = conversation(&client, small()).await;
        eventually("a summary", SOON, async || {
            let ranges = list(&client, &summarized, LedgerKind::Summary, "").await;
            ranges
                .iter()
                .any(|(state, ..)| *state == LedgerState::Summarized)
        })
        .await;
        let observed = MemoryPolicy {
            mode: MemoryMode::Observational.into(),
            observer_tokens: Some(1_000),
            summarize: Some(false),
            ..Default::default()
        };
        let observed = conversation(&client, observed).await;
        eventually("observations", SOON, async || {
            !observations(&client, &observed, false)
                .await
                .observations
                .is_empty()
        })
        .await;
        for asked in model.asked() {
            assert_eq!(asked.path, path);
            check_model_request(provider, &asked.body);
        }
        let reported = status(&client).await.models[0].provider();
        let name = format!("MODEL_PROVIDER_{}", provider.to_uppercase());
        assert_eq!(reported.as_str_name(), name);
    }
}

#[apply(trial_with_own_server)]
async fn r16_a_model_that_cannot_be_opened_is_refused_with_its_key() {
    let dir = DataDir::new();
    let check = |lines: &[&str], key: &str| {
        let lines: Vec<String> = lines.iter().map(|line| format!("distill.{line}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let refused = config(&dir, &lines, &[]);
        assert_eq!(refused.code, Some(5), "{refused:?}");
        assert!(
            refused.stderr.contains(&format!("distill.{key}")),
            "{key}: {refused:?}"
        );
        assert!(!refused.stderr.contains("a-private-key"), "{refused:?}");
    };
    let openai = "generation.provider = 'openai'";
    let named = "generation.model = 'large'";
    let key = "generation.api_key = 'a-private-key'";
    check(&[openai], "generation.model");
    check(&[openai, named], "generation.api_key");
    check(&[named], "generation.provider");
    check(&["generation.provider = 'nobody'"], "generation.provider");
    check(
        &["generation.provider = 'openai_compatible'", named],
        "generation.endpoint",
    );
    check(
        &["generation.provider = 'bedrock'", named, key],
        "generation.endpoint",
    );
    check(
        &[
            openai,
            named,
            key,
            "generation.endpoint = 'http://a:a-private-key@b/v1'",
        ],
        "generation.endpoint",
    );
    check(
        &[openai, named, key, "generation.timeout = '1ms'"],
        "generation.timeout",
    );
    check(
        &[openai, named, key, "generation.context_window = 100"],
        "generation.context_window",
    );
    check(
        &[openai, named, key, "generation.context_window = 5000"],
        "generation.max_output_tokens",
    );
    check(
        &[openai, named, key, "observer.provider = 'anthropic'"],
        "observer.api_key",
    );
    check(&["observer.model = 'small'"], "observer.provider");
    check(&["observer.modle = 'small'"], "observer.modle");
    check(
        &["observer.max_output_tokens = 7"],
        "observer.max_output_tokens",
    );
    check(&["calls.max_attempts = 0"], "calls.max_attempts");
    check(&["calls.longest_pause = '1ms'"], "calls.longest_pause");
    check(&["daily_token_budget = -1"], "daily_token_budget");
    check(
        &[openai, named, key, "daily_token_budget = 4096"],
        "daily_token_budget",
    );
    let longer = "observer.max_output_tokens = 6000";
    check(
        &[openai, named, key, longer, "daily_token_budget = 5000"],
        "daily_token_budget",
    );
}

#[apply(trial_with_own_server)]
async fn n09_the_observers_model_is_configured_by_itself() {
    let (dir, model) = (DataDir::new(), LanguageModel::new());
    let mut lines = model.config();
    lines.push("distill.observer.model = \"small\"".to_owned());
    lines.push("embedding.kind = \"none\"".to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let env = [("RECOLLECT_DISTILL__OBSERVER__CONTEXT_WINDOW", "9000")];
    let shown = config(&dir, &lines, &env).ok().stdout;
    for part in [
        "distill.observer.model",
        "small",
        "distill.observer.provider",
        "distill.observer.api_key",
        "9000",
        "RECOLLECT_DISTILL__OBSERVER__CONTEXT_WINDOW",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let server = Server::start(&dir, &Options::with(&lines));
    let client = server.client(Key::Acme).await;
    let models = status(&client).await.models;
    let names: Vec<&str> = models.iter().map(|model| model.model.as_str()).collect();
    assert_eq!(names, ["large", "small"]);
    let file = dir.path().join("models.toml");
    let args = ["doctor", "--json", "--config", file.to_str().unwrap()];
    let found = recollect(&args, &[]).json_lines();
    let line = found
        .iter()
        .find(|line| line["check"] == "summaries and facts")
        .unwrap();
    let reported = line["found"].as_str().unwrap();
    assert!(
        reported.contains("large") && reported.contains("small"),
        "{reported}"
    );
}

/// A thread with about 1,500 tokens of conversation under a policy.
async fn conversation(client: &Client, policy: MemoryPolicy) -> String {
    let thread_id = thread(client, policy).await;
    for number in 0..20 {
        let said = mending(number..number + 1);
        client.append(&thread_id, said).await;
    }
    thread_id
}

#[apply(trial_with_own_server)]
async fn n04_a_working_memory_that_is_put_meanwhile_does_not_spoil_an_observation() {
    let (_dir, model, _server, client) = start(&[]).await;
    model.answers(Answering::Late("Sails are mended.".to_owned()));
    let observed = MemoryPolicy {
        mode: MemoryMode::Observational.into(),
        observer_tokens: Some(1_000),
        ..Default::default()
    };
    let thread_id = conversation(&client, observed).await;
    eventually("the observer works", SOON, async || {
        !model.asked().is_empty()
    })
    .await;
    let only = say(Role::User, "Only this.");
    let put = PutWorkingMemoryRequest {
        thread: by_id(&thread_id),
        messages: vec![Message {
            role: only.role,
            parts: only.parts,
            ..Default::default()
        }],
        ..Default::default()
    };
    client.call(put).await;
    model.answers(Answering::Well);
    eventually("an observation", SOON, async || {
        let found = observations(&client, &thread_id, true).await.observations;
        found.iter().any(|one| one.text == "Sails are mended.")
    })
    .await;
    // The model was asked once for it.
    assert_eq!(model.asked_about("sail number 0?").len(), 1);
}

#[apply(trial_with_own_server)]
async fn n09_one_model_observes_and_the_other_one_summarizes() {
    let lines = [
        "distill.observer.model = \"small\"",
        "distill.summary_prompt = \"After {prev_summary} came {messages_joined}, in short?\"",
    ];
    let (_dir, model, _server, client) = start(&lines).await;
    let observed = MemoryPolicy {
        mode: MemoryMode::Observational.into(),
        observer_tokens: Some(1_000),
        summarize: Some(false),
        ..Default::default()
    };
    let thread_id = conversation(&client, observed).await;
    let made = eventually_some("observations", SOON, async || {
        let found = observations(&client, &thread_id, false).await.observations;
        (!found.is_empty()).then_some(found)
    })
    .await;
    assert!(
        made.iter()
            .all(|one| one.origin() == TextOrigin::Model && one.made_by == "small"),
        "{made:?}"
    );
    assert!(model.asked().iter().all(|asked| asked.model == "small"));

    conversation(&client, small()).await;
    // The operator's own prompt is used.
    eventually("a summary", SOON, async || {
        let asked = model.asked();
        let mut asked = asked
            .iter()
            .filter(|asked| asked.user.ends_with(", in short?"));
        asked.any(|asked| asked.model == "large" && asked.user.starts_with("After "))
    })
    .await;
    eventually("both are in the ledger", SOON, async || {
        let used = super::usage(&client).await.usage;
        let names: Vec<&str> = used.iter().map(|one| one.model.as_str()).collect();
        names == ["large", "small"]
    })
    .await;
}
