use memory_contract::proto::{MessageInput, Role, part::Content};
use proptest::prelude::*;

use super::*;

/// The stream of a chat completion with a text and two calls.
const CHAT: &str = r#"data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","object":"chat.completion.chunk","created":1741570283,"model":"gpt-4.1","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","choices":[{"index":0,"delta":{"content":"Grüße aus "},"finish_reason":null}]}

: keep-alive

data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","choices":[{"index":0,"delta":{"content":"東京 🗼"},"finish_reason":null}]}

data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_tide","type":"function","function":{"name":"tide","arguments":""}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"port\": "}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_wind","type":"function","function":{"name":"wind","arguments":"{}"}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Bergen\"}"}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}}

data: [DONE]

"#;

/// The stream of a response with reasoning, a text and a call.
const RESPONSES: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_67ccd2bed1ec8190b14f964abc054267","object":"response","status":"in_progress","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":2,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"Grüße aus 東京 🗼"}

event: response.completed
data: {"type":"response.completed","sequence_number":9,"response":{"id":"resp_67ccd2bed1ec8190b14f964abc054267","object":"response","status":"completed","output":[{"id":"rs_1","type":"reasoning","summary":[]},{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Grüße aus 東京 🗼","annotations":[]}]},{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_tide","name":"tide","arguments":"{\"port\": \"Bergen\"}"}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}

"#;

/// The stream of a message with thinking, a text and a call.
const MESSAGES: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","type":"message","role":"assistant","content":[],"model":"claude","stop_reason":null,"usage":{"input_tokens":25,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Tides."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Grüße aus "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"東京 🗼"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_tide","name":"tide","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"port\": "}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"Bergen\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

const ALL: [(Api, &str); 3] = [
    (Api::Chat, CHAT),
    (Api::Responses, RESPONSES),
    (Api::Messages, MESSAGES),
];

fn streamed(api: Api, chunks: &[&[u8]]) -> Result<Vec<MessageInput>, Unstored> {
    let mut answer = Answer::new(api, true);
    for chunk in chunks {
        answer.take(chunk);
    }
    answer.whole().map(|whole| whole.messages)
}

fn whole(api: Api, json: &str) -> Result<Vec<MessageInput>, Unstored> {
    let mut answer = Answer::new(api, false);
    answer.take(json.as_bytes());
    answer.whole().map(|whole| whole.messages)
}

/// The texts and calls of a message.
fn shown(message: &MessageInput) -> Vec<String> {
    assert_eq!(message.role(), Role::Assistant);
    let parts = message.parts.iter().map(|part| match &part.content {
        Some(Content::Text(text)) => text.clone(),
        Some(Content::ToolCall(call)) => {
            format!("{} {} {}", call.tool_call_id, call.name, call.arguments)
        }
        Some(Content::Reasoning(thought)) => {
            format!("thinks {} {}", thought.text, thought.signature)
        }
        other => format!("{other:?}"),
    });
    parts.collect()
}

#[test]
fn a_stream_gives_texts_and_calls_as_the_model_wrote_them() {
    let check = |api, stream: &str, id: &str, expected: &[&str]| {
        let messages = streamed(api, &[stream.as_bytes()]).unwrap();
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert_eq!(messages[0].external_id, id);
        assert_eq!(shown(&messages[0]), expected);
    };
    check(
        Api::Chat,
        CHAT,
        "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
        &[
            "Grüße aus 東京 🗼",
            r#"call_tide tide {"port": "Bergen"}"#,
            "call_wind wind {}",
        ],
    );
    check(
        Api::Responses,
        RESPONSES,
        "resp_67ccd2bed1ec8190b14f964abc054267",
        &[
            "thinks  ",
            "Grüße aus 東京 🗼",
            r#"call_tide tide {"port": "Bergen"}"#,
        ],
    );
    check(
        Api::Messages,
        MESSAGES,
        "msg_01XFDUDYJgAACzvnptvVoYEL",
        &[
            "thinks Tides. EqQB",
            "Grüße aus 東京 🗼",
            r#"toolu_tide tide {"port": "Bergen"}"#,
        ],
    );
}

#[test]
fn a_stream_that_ends_early_gives_nothing() {
    for (api, stream) in ALL {
        let events: Vec<&str> = stream.split_inclusive("\n\n").collect();
        // The last events of chat completions are not needed.
        let needed = match api {
            Api::Chat => events.len() - 3,
            Api::Responses | Api::Messages => events.len() - 1,
        };
        for end in 0..needed {
            let begun = events[..end].concat();
            let stored = streamed(api, &[begun.as_bytes()]);
            assert_eq!(stored, Err(Unstored::Unfinished), "{api:?} {end}");
        }
    }
}

#[test]
fn a_stream_that_reports_an_error_gives_nothing() {
    let error = |api, data: &str, stream: &str| {
        let stream = format!("data: {data}\n\n{stream}");
        assert_eq!(
            streamed(api, &[stream.as_bytes()]),
            Err(Unstored::Unfinished),
            "{api:?}"
        );
    };
    error(Api::Chat, r#"{"error":{"message":"overloaded"}}"#, CHAT);
    error(
        Api::Responses,
        r#"{"type":"error","code":"x","message":"y"}"#,
        RESPONSES,
    );
    error(
        Api::Messages,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        MESSAGES,
    );
}

#[test]
fn an_answer_cut_off_by_its_limit_is_stored() {
    let cut = MESSAGES
        .replace(
            r#"data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"Bergen\"}"}}"#,
            ": nothing",
        )
        .replace("\"tool_use\",\"stop_sequence", "\"max_tokens\",\"stop_sequence");
    let messages = streamed(Api::Messages, &[cut.as_bytes()]).unwrap();
    assert!(shown(&messages[0])[2].starts_with("toolu_tide tide"));
    let incomplete = RESPONSES.replace("response.completed", "response.incomplete");
    assert!(streamed(Api::Responses, &[incomplete.as_bytes()]).is_ok());
}

#[test]
fn servers_that_leave_out_what_is_usual_are_understood() {
    // Calls without an index, and no last line.
    let stream = concat!(
        r#"data: {"choices":[{"delta":{"content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{"}}]}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}"#,
        "\n\n",
    );
    let messages = streamed(Api::Chat, &[stream.as_bytes()]).unwrap();
    assert_eq!(shown(&messages[0]), ["a f {}", "b g {}"]);
    // A last event without the output.
    let stream = concat!(
        r#"data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}}"#,
        "\n\n",
        r#"data: {"type":"response.completed","response":{"id":"resp_1","output":[]}}"#,
        "\n\n",
    );
    let messages = streamed(Api::Responses, &[stream.as_bytes()]).unwrap();
    assert_eq!(shown(&messages[0]), ["Hi"]);
}

#[test]
fn reasoning_by_either_name_is_read_and_usage_without_choices() {
    let stream = concat!(
        r#"data: {"choices":[{"delta":{"reasoning":"Tides ","reasoning_content":"Tides "}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{"reasoning":"turn.","reasoning_content":null}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{"reasoning":null,"reasoning_content":null,"content":"At six."},"finish_reason":"stop"}]}"#,
        "\n\n",
        r#"data: {"choices":null,"usage":{"total_tokens":29}}"#,
        "\n\ndata: [DONE]\n\n",
    );
    let messages = streamed(Api::Chat, &[stream.as_bytes()]).unwrap();
    let all = format!("{messages:?}");
    assert!(all.contains("At six."), "{all}");
    assert!(all.contains("Tides turn."), "{all}");
}

#[test]
fn a_stream_with_an_event_that_cannot_be_read_says_so() {
    for (api, stream) in [(Api::Chat, CHAT), (Api::Messages, MESSAGES)] {
        let broken = format!("data: {{\"id\": 1\n\n{stream}");
        let stored = streamed(api, &[broken.as_bytes()]);
        assert_eq!(stored, Err(Unstored::Unreadable), "{api:?}");
    }
}

#[test]
fn alternatives_are_left_to_the_next_request() {
    let two = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"a"}},
        {"index":1,"message":{"role":"assistant","content":"b"}}]}"#;
    assert_eq!(whole(Api::Chat, two), Err(Unstored::Alternatives));
    let stream = CHAT.replacen("\"index\":0", "\"index\":1", 2);
    let stored = streamed(Api::Chat, &[stream.as_bytes()]);
    assert_eq!(stored, Err(Unstored::Alternatives));
}

#[test]
fn what_is_no_answer_is_not_stored() {
    for text in ["", "{", "<html>", "{\"choices\":[]}", "\u{1}"] {
        assert!(whole(Api::Chat, text).is_err(), "{text:?}");
    }
    let mut large = Answer::new(Api::Chat, false);
    large.take(&vec![b' '; ANSWER_BYTES + 1]);
    assert_eq!(large.whole(), Err(Unstored::TooLarge));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Wherever the network cuts a stream, also within a character, it gives the same answer.
    #[test]
    fn a_stream_gives_the_same_in_any_pieces(
        which in 0..ALL.len(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let (api, stream) = ALL[which];
        let bytes = stream.as_bytes();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let chunks: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let expected = streamed(api, &[bytes]);
        prop_assert!(expected.is_ok());
        prop_assert_eq!(streamed(api, &chunks), expected);
    }

    /// Nothing that a server may send makes reading it panic.
    #[test]
    fn no_bytes_make_an_answer_panic(
        api in prop::sample::select(vec![Api::Chat, Api::Responses, Api::Messages]),
        is_stream in any::<bool>(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in "(data: |\\{|\\}|\"|type|index|:|\n|[a-z]| ){0,40}",
    ) {
        let mut answer = Answer::new(api, is_stream);
        answer.take(&bytes);
        answer.take(text.as_bytes());
        answer.take(b"\n\n");
        let _ = answer.whole();
    }
}
