//! Token counts equal those of Python's tiktoken, which `scripts/golden-tokens` writes down.

use memory_contract::proto::{
    BuildContextRequest, ContextBlockKind as Kind, GetHistoryRequest, GetHistoryResponse,
    MemoryMode, MemoryPolicy, Role,
};
use recollect_tests::{
    Client, app, apply, block, check_context, context_request, history_request, mode, say, trial,
};
use serde_json::Value;

use crate::plain;

/// Tokens that a chat format puts around each message.
const FRAME: i32 = 3;

/// Models with their encodings, and texts with their tokens by encoding.
struct Golden(Value);

impl Golden {
    fn read() -> Self {
        let file = include_str!("../../../crates/memory-budget/tests/golden/tokens.json");
        Self(serde_json::from_str(file).unwrap())
    }

    fn models(&self) -> Vec<(&str, &str)> {
        let models = self.0["models"].as_object().unwrap().iter();
        models
            .map(|(model, encoding)| (model.as_str(), encoding.as_str().unwrap()))
            .collect()
    }

    /// The texts that a message can have.
    fn texts(&self) -> Vec<&str> {
        let texts = self.0["texts"].as_array().unwrap().iter();
        let texts = texts.map(|entry| entry["text"].as_str().unwrap());
        texts.filter(|text| !text.is_empty()).collect()
    }

    /// The tokens of the messages with these texts, in their order.
    fn messages(&self, encoding: &str) -> Vec<i32> {
        let texts = self.0["texts"].as_array().unwrap().iter();
        let texts = texts.filter(|entry| entry["text"] != "");
        texts
            .map(|entry| {
                FRAME + i32::try_from(entry["tokens"][encoding].as_i64().unwrap()).unwrap()
            })
            .collect()
    }
}

/// A thread in which each text is a turn of the user.
async fn thread(client: &Client, golden: &Golden) -> String {
    let thread_id = client.thread(&app()).await;
    let said = golden.texts().into_iter();
    let said = said.map(|text| say(Role::User, text)).collect();
    let stored = client.append(&thread_id, said).await.messages;
    let counts: Vec<i32> = stored.iter().map(|one| one.token_count).collect();
    assert_eq!(counts, golden.messages("o200k_base"));
    thread_id
}

async fn history(client: &Client, request: GetHistoryRequest, model: &str) -> GetHistoryResponse {
    let request = GetHistoryRequest {
        model: model.to_owned(),
        ..request
    };
    client.call(request).await
}

#[apply(trial)]
async fn d23_each_model_counts_as_python_does() {
    let client = plain().await;
    let golden = Golden::read();
    let thread_id = thread(&client, &golden).await;
    let stored = client.all_messages(&thread_id).await;
    for (model, encoding) in golden.models() {
        let whole = history(&client, history_request(&thread_id), model).await;
        assert_eq!(whole.tokenizer, encoding, "{model}");
        let all: i32 = golden.messages(encoding).iter().sum();
        assert_eq!(whole.total_tokens, all, "{model}");
    }
    for (model, encoding) in [
        ("gpt-4o", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("text-davinci-003", "p50k_base"),
        ("davinci", "r50k_base"),
    ] {
        for (message, tokens) in stored.iter().zip(golden.messages(encoding)) {
            let request = GetHistoryRequest {
                head_message_id: message.message_id.clone(),
                max_messages: Some(1),
                ..history_request(&thread_id)
            };
            let one = history(&client, request, model).await;
            assert_eq!(one.total_tokens, tokens, "{model}: {message:?}");
        }
    }
}

#[apply(trial)]
async fn d06_a_budget_of_the_counted_tokens_keeps_exactly_these_turns() {
    let client = plain().await;
    let golden = Golden::read();
    let thread_id = thread(&client, &golden).await;
    for (model, encoding) in golden.models() {
        let tokens = golden.messages(encoding);
        for kept in [1, 2, 7, 20, tokens.len()] {
            let budget: i32 = tokens[tokens.len() - kept..].iter().sum();
            for (max_tokens, count) in [(budget, kept), (budget - 1, kept - 1)] {
                // One message that does not fit would be shortened.
                if count == 0 {
                    continue;
                }
                let request = GetHistoryRequest {
                    max_tokens: Some(max_tokens),
                    ..history_request(&thread_id)
                };
                let found = history(&client, request, model).await;
                assert_eq!(found.messages.len(), count, "{model} with {max_tokens}");
                assert_eq!(
                    found.total_tokens,
                    tokens[tokens.len() - count..].iter().sum::<i32>()
                );
            }
        }
    }
}

#[apply(trial)]
async fn t16_a_context_has_the_tokens_that_python_counts() {
    let client = plain().await;
    let golden = Golden::read();
    let thread_id = thread(&client, &golden).await;
    let texts = golden.texts();
    // A long text of English words, and one of other scripts.
    let system = texts
        .iter()
        .position(|text| text.contains("lazy dog"))
        .unwrap();
    let input = texts.iter().position(|text| text.contains("你好")).unwrap();
    for (model, encoding) in golden.models() {
        let tokens = golden.messages(encoding);
        let all: i32 = tokens.iter().sum::<i32>() + tokens[system] + tokens[input];
        let build = async |max_tokens| {
            let request = BuildContextRequest {
                model: model.to_owned(),
                system_prompt: texts[system].to_owned(),
                max_tokens: Some(max_tokens),
                policy: Some(MemoryPolicy {
                    window_enabled: Some(false),
                    ..mode(MemoryMode::Window)
                }),
                ..context_request(&thread_id, texts[input])
            };
            let context = client.context(request).await;
            check_context(&context, max_tokens);
            context
        };
        let whole = build(all).await;
        assert_eq!((whole.total_tokens, &*whole.tokenizer), (all, encoding));
        let counted = |kind| block(&whole, kind).unwrap().token_count;
        assert_eq!(counted(Kind::System), tokens[system], "{model}");
        assert_eq!(counted(Kind::Input), tokens[input], "{model}");
        // One token less, and the oldest turn is gone.
        assert_eq!(
            build(all - 1).await.total_tokens,
            all - tokens[0],
            "{model}"
        );
    }
}
