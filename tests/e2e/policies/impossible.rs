//! Values that no policy can have, at each level and through each method that
//! takes a policy.

use recollect_tests::{Client, Dynamic, Failure, Refused as _, app, apply, trial};
use serde_json::{Map, Value, json};
use tonic::Code;

use crate::plain;

/// Who may set a field.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    App,
    Thread,
    Request,
}

/// The methods that take a policy, and the level that it is of.
const METHODS: [(&str, Whose); 7] = [
    ("PolicyService/UpdateAppPolicy", Whose::App),
    ("ThreadService/CreateThread", Whose::Thread),
    ("ThreadService/ResolveThread", Whose::Thread),
    ("ThreadService/UpdateThread", Whose::Thread),
    ("PolicyService/GetEffectivePolicy", Whose::Request),
    ("ContextService/BuildContext", Whose::Request),
    ("RecallService/Recall", Whose::Request),
];

/// A request that is good but for its policy.
fn request(method: &str, app: &str, thread_id: &str, policy: Value) -> Value {
    let session = json!({"app_id": app, "user_id": "ada", "session_key": "thread:new"});
    match method {
        "PolicyService/UpdateAppPolicy" => {
            json!({"app_policy": {"app_id": app, "policy": policy}, "update_mask": "policy"})
        }
        "ThreadService/UpdateThread" => {
            json!({"thread": {"thread_id": thread_id, "policy": policy}, "update_mask": "policy"})
        }
        "ContextService/BuildContext" => {
            json!({"thread": {"thread_id": thread_id}, "policy": policy})
        }
        "PolicyService/GetEffectivePolicy" | "RecallService/Recall" => {
            json!({"target": {"thread": {"thread_id": thread_id}}, "policy": policy})
        }
        _ => json!({"session": session, "policy": policy}),
    }
}

/// The path of the policy in a request.
fn path(method: &str) -> &'static str {
    match method {
        "PolicyService/UpdateAppPolicy" => "app_policy.policy",
        "ThreadService/UpdateThread" => "thread.policy",
        _ => "policy",
    }
}

async fn refused(client: &Client, method: &str, request: Value) -> Failure {
    eprintln!("{method} of {request}");
    Dynamic::call(client, method, request).await.refused()
}

/// So many kinds of memories, with descriptions of so many characters.
fn kinds(count: usize, chars: usize) -> Value {
    let kind = |number| {
        let name = format!("{:k<64}", format!("kind_{number}_"));
        json!({"name": name, "description": "x".repeat(chars)})
    };
    (0..count).map(kind).collect()
}

/// Each field with invalid values, and the most specific level that may set it.
fn impossible() -> Vec<(&'static str, Whose, Vec<Value>)> {
    let number = |min: i64, max: i64| {
        let values = [min - 1, max + 1, -1, i32::MIN.into(), i32::MAX.into()];
        values.map(Value::from).to_vec()
    };
    let choice = || vec![json!(-1), json!(9), json!(i32::MAX)];
    let label = || {
        let texts = [
            "",
            "a\nb",
            "a\rb",
            "a\tb",
            "a\u{0}b",
            "a\u{85}b",
            "a\u{2028}b",
        ];
        let mut values = texts.map(Value::from).to_vec();
        values.push(json!("ä".repeat(65)));
        values
    };
    let life = || {
        let lives = [
            "0s",
            "0.999s",
            "-1s",
            "-315576000000s",
            "315619200.000000001s",
        ];
        lives.map(Value::from).to_vec()
    };
    let templates = vec![
        json!(""),
        json!("Tell me."),
        json!("{{ query"),
        json!("{{ query }}{% if %}"),
        json!("{{ query }}{{ tenant }}"),
        json!("{{ query }}\u{0}"),
        json!("{% for x in query %}{{ x }}{% endfor %}"),
        json!("{{ query }}".to_owned() + &"x".repeat(4_096)),
    ];
    let kept = || {
        let times = ["0s", "86399s", "-1s", "3155760000.000000001s"];
        times.map(Value::from).to_vec()
    };
    let shares = ["NaN", "Infinity", "-Infinity"].map(Value::from);
    let shares = [shares.to_vec(), vec![json!(0.09), json!(0.96)]].concat();
    let instructions = vec![json!("a\u{0}b"), json!("x".repeat(4_097))];
    let scores = ["NaN", "Infinity", "-Infinity"].map(Value::from);
    let scores = [scores.to_vec(), vec![json!(-0.01), json!(1.01)]].concat();
    let space = vec![json!(""), json!("a\u{0}b"), json!("x".repeat(129))];
    vec![
        ("mode", Whose::Request, choice()),
        ("window_size", Whose::Request, number(1, 500)),
        ("recent_window", Whose::Request, number(0, 500)),
        ("top_k", Whose::Request, number(0, 100)),
        ("neighbors_before", Whose::Request, number(0, 20)),
        ("neighbors_after", Whose::Request, number(0, 20)),
        ("min_score", Whose::Request, scores),
        ("scope", Whose::Request, choice()),
        ("user_label", Whose::Request, label()),
        ("assistant_label", Whose::Request, label()),
        ("query_prompt_template", Whose::Request, templates),
        ("shared_session_default", Whose::App, Vec::new()),
        ("extraction", Whose::Request, choice()),
        ("ttl", Whose::App, life()),
        ("node_ttl", Whose::Thread, life()),
        ("context_window", Whose::Request, number(1_000, 10_000_000)),
        ("context_tokens", Whose::Request, number(1, 10_000_000)),
        ("summarization_threshold", Whose::Request, shares),
        ("observer_tokens", Whose::Request, number(1_000, 1_000_000)),
        ("reflector_tokens", Whose::Request, number(1_000, 1_000_000)),
        ("extraction_instructions", Whose::Request, instructions),
        ("memories_top_k", Whose::Request, number(0, 50)),
        ("memory_max_age", Whose::App, kept()),
        ("memory_max_inactivity", Whose::App, kept()),
        ("memory_max_count", Whose::App, number(1, 1_000_000)),
        ("file_delivery", Whose::Request, choice()),
        (
            "file_types",
            Whose::Request,
            vec![json!([1, 0]), json!([99])],
        ),
        ("image_detail", Whose::Request, choice()),
        ("flow_session_default", Whose::App, Vec::new()),
        ("memory_space", Whose::App, space),
        ("redaction", Whose::App, choice()),
        (
            "redacted_kinds",
            Whose::App,
            vec![json!([1, 0]), json!([9])],
        ),
        ("profile_tokens", Whose::Request, number(0, 10_000)),
        (
            "memory_kinds",
            Whose::App,
            vec![kinds(33, 1), kinds(32, 1_024)],
        ),
        ("never_keep", Whose::App, vec![json!(vec!["salary"; 33])]),
    ]
}

/// A good value of a field that not every level may set.
fn allowed_above(field: &str) -> Value {
    match field {
        "shared_session_default" | "flow_session_default" => json!(false),
        "memory_max_count" => json!(5),
        "memory_space" => json!("desk"),
        "redaction" => json!(1),
        "redacted_kinds" => json!([1]),
        "memory_kinds" => json!([{"name": "order", "description": "An order in the shop."}]),
        "never_keep" => json!(["salary"]),
        "memory_max_age" | "memory_max_inactivity" => json!("86400s"),
        _ => json!("60s"),
    }
}

#[apply(trial)]
async fn each_impossible_value_is_refused_at_each_level() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let fields = Dynamic::method("ThreadService/CreateThread").input();
    let fields = fields.get_field_by_name("policy").unwrap().kind();
    let fields = fields.as_message().unwrap().fields().count();
    // window_enabled, summarize and rebuild_expired have no wrong value.
    assert_eq!(
        impossible().len() + 3,
        fields,
        "a field is not in the table"
    );
    for (method, level) in METHODS {
        for (field, last, values) in impossible() {
            let forbidden = (level > last).then(|| allowed_above(field));
            for value in values.into_iter().chain(forbidden) {
                let request = request(method, &app, &thread_id, json!({field: value}));
                let failure = refused(&client, method, request).await;
                failure.names_field(&format!("{}.{field}", path(method)));
            }
        }
    }
}

/// A policy with every value wrong that can be.
fn all_wrong(level: Whose) -> Map<String, Value> {
    let wrong = impossible()
        .into_iter()
        .filter_map(|(field, last, values)| {
            let forbidden = (level > last).then(|| allowed_above(field));
            let value = values.into_iter().next().or(forbidden)?;
            Some((field.to_owned(), value))
        });
    wrong.collect()
}

#[apply(trial)]
async fn all_impossible_values_are_named_at_once() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    for (method, level) in METHODS {
        let policy = all_wrong(level);
        let mut expected: Vec<String> = policy
            .keys()
            .map(|field| format!("{}.{field}", path(method)))
            .collect();
        expected.sort();
        assert!(expected.len() >= 14);
        let request = request(method, &app, &thread_id, Value::Object(policy));
        let failure = refused(&client, method, request).await;
        let failure = failure.is(Code::InvalidArgument, "INVALID_FIELD");
        let mut named: Vec<&String> = failure.fields.iter().map(|(field, _)| field).collect();
        named.sort();
        assert_eq!(named, expected.iter().collect::<Vec<_>>(), "{method}");
    }
    // Together with the other fields of a recall.
    let wrong = json!({
        "target": {"thread": {"thread_id": thread_id}}, "query": "x", "method": 9,
        "max_tokens": -1, "freshness": {"max_wait": "31s"},
        "policy": {
            "scope": 9, "mode": 9, "recent_window": 501, "top_k": -1, "neighbors_before": 21,
            "neighbors_after": -1, "min_score": 1.5,
        },
    });
    let failure = refused(&client, "RecallService/Recall", wrong.clone()).await;
    let failure = failure.is(Code::InvalidArgument, "INVALID_FIELD");
    let of_policy = wrong["policy"].as_object().unwrap().keys();
    let mut expected: Vec<String> = of_policy.map(|field| format!("policy.{field}")).collect();
    expected.extend(["method", "max_tokens", "freshness.max_wait"].map(str::to_owned));
    expected.sort();
    let mut named = failure.field_names();
    named.sort_unstable();
    assert_eq!(named, expected);
}

#[apply(trial)]
async fn a_refused_policy_leaves_the_old_one() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let old = json!({"top_k": 7, "user_label": "Guest", "neighbors_after": 3});
    for method in [
        "PolicyService/UpdateAppPolicy",
        "ThreadService/UpdateThread",
    ] {
        let request = request(method, &app, &thread_id, old.clone());
        Dynamic::call(&client, method, request).await.unwrap();
    }
    let state = async || {
        let get = |method: &'static str, request: Value| {
            let client = client.clone();
            async move {
                let answer = Dynamic::call(&client, method, request).await;
                answer.unwrap().into_inner()
            }
        };
        [
            get("PolicyService/GetAppPolicy", json!({"app_id": app})).await,
            get(
                "ThreadService/GetThread",
                json!({"thread": {"thread_id": thread_id}}),
            )
            .await,
            get(
                "PolicyService/GetEffectivePolicy",
                json!({"target": {"thread": {"thread_id": thread_id}}}),
            )
            .await,
            get(
                "ThreadService/ListThreads",
                json!({"target": {"app": {"app_id": app}}}),
            )
            .await,
        ]
    };
    let before = state().await;
    assert_eq!(before[0][0]["app_policy"]["policy"], old);
    for (method, level) in METHODS {
        // Valid values of the same request are not stored either.
        for (field, value) in all_wrong(level) {
            let policy = json!({"recent_window": 9, "mode": 2, field: value});
            let request = request(method, &app, &thread_id, policy);
            let failure = refused(&client, method, request).await;
            failure.is(Code::InvalidArgument, "INVALID_FIELD");
        }
        assert_eq!(state().await, before, "{method}");
    }
}

#[apply(trial)]
async fn values_at_the_limits_are_taken_at_each_level() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let least = json!({
        "mode": 1, "window_enabled": false, "window_size": 1, "recent_window": 0, "top_k": 0,
        "neighbors_before": 0, "neighbors_after": 0, "min_score": 0.0, "scope": 1,
        "user_label": "A", "assistant_label": "B", "query_prompt_template": "{{query}}",
        "shared_session_default": false, "extraction": 1, "ttl": "1s", "node_ttl": "1s",
        "summarize": false, "context_window": 1_000, "summarization_threshold": 0.1,
        "observer_tokens": 1_000, "reflector_tokens": 1_000, "extraction_instructions": "x",
        "memories_top_k": 0, "rebuild_expired": false, "memory_max_age": "86400s",
        "memory_max_inactivity": "86400s", "memory_max_count": 1,
        "file_delivery": 1, "file_types": [1], "image_detail": 1, "flow_session_default": false,
        "memory_space": "s", "profile_tokens": 0,
        "memory_kinds": [{"name": "a", "description": "b"}], "never_keep": ["a"],
    });
    let template = "{{query}}".to_owned() + &"x".repeat(4_096 - 9);
    let most = json!({
        "mode": 3, "window_enabled": true, "window_size": 500, "recent_window": 500, "top_k": 100,
        "neighbors_before": 20, "neighbors_after": 20, "min_score": 1.0, "scope": 4,
        "user_label": "ä".repeat(64), "assistant_label": "ä".repeat(64),
        "query_prompt_template": template, "shared_session_default": true, "extraction": 5,
        "ttl": "315619200s", "node_ttl": "315619200s",
        "summarize": true, "context_window": 10_000_000, "summarization_threshold": 0.95,
        "observer_tokens": 1_000_000, "reflector_tokens": 1_000_000,
        "extraction_instructions": "x".repeat(4_096), "memories_top_k": 50,
        "rebuild_expired": true, "memory_max_age": "3155760000s",
        "memory_max_inactivity": "3155760000s", "memory_max_count": 1_000_000,
        "file_delivery": 4, "file_types": [5, 1], "image_detail": 3,
        "flow_session_default": true,
        "memory_space": "ä".repeat(128), "profile_tokens": 10_000,
    });
    let mut most = most;
    most["memory_kinds"] = kinds(32, 900);
    most["never_keep"] = (0..32).map(|number| format!("{number:0>256}")).collect();
    for policy in [least, most] {
        for (method, level) in METHODS {
            let mut policy = policy.clone();
            let fields = policy.as_object_mut().unwrap();
            for (field, last, _) in impossible() {
                if level > last {
                    fields.remove(field);
                }
            }
            let mut request = request(method, &app, &thread_id, policy);
            if method == "ThreadService/CreateThread" {
                request["session"]["session_key"] = json!(uuid::Uuid::new_v4().to_string());
            }
            // What an app gives a new thread to live may be a second.
            if method == "PolicyService/UpdateAppPolicy" {
                request["app_policy"]["app_id"] = json!(recollect_tests::app());
            }
            let answer = Dynamic::call(&client, method, request).await;
            let failure = answer.err().map(Failure::from);
            assert_eq!(failure, None, "{method}");
        }
    }
}
