//! A user of no particular system.

use memory_contract::proto::{
    AppendMessagesRequest, BuildContextRequest, ContextBlock, ContextBlockKind, Part,
    ProviderFormat, Role, part,
};
use recollect_tests::{app, apply, block_texts, by_session, chat_messages, say, session, trial};

use crate::acme;

#[apply(trial)]
async fn j26_a_chat_turn_by_session_key_takes_two_calls() {
    let client = acme().await;
    let app = app();
    let turns = [
        ("My sister Rosa visits in May.", "Noted: Rosa, in May."),
        ("She eats no fish.", "Then no fish for her."),
        ("Who visits in May?", "Rosa does."),
    ];
    let mut said: Vec<&str> = Vec::new();
    let mut thread_id = String::new();
    for (question, answer) in turns {
        let chat = session(&app, "ada", "thread:visit");
        // The first call, before the model is asked.
        let request = BuildContextRequest {
            thread: by_session(chat.clone()),
            input: vec![Part {
                content: Some(part::Content::Text(question.to_owned())),
                ..Default::default()
            }],
            formats: vec![ProviderFormat::OpenaiChat.into()],
            ..Default::default()
        };
        let context = client.call(request).await;
        let texts = |kind| block_texts(&context, kind);
        assert_eq!(texts(ContextBlockKind::Recent), said);
        assert_eq!(texts(ContextBlockKind::Input), [question]);
        let last = context.blocks.last().map(ContextBlock::kind);
        assert_eq!(last, Some(ContextBlockKind::Input));
        let rendered = chat_messages(&context);
        let asked = rendered
            .last()
            .map(|message| message["content"].to_string());
        assert!(
            asked.is_some_and(|asked| asked.contains(question)),
            "{rendered:?}"
        );

        // The second call, with what was asked and answered.
        let request = AppendMessagesRequest {
            thread: by_session(chat),
            messages: vec![say(Role::User, question), say(Role::Assistant, answer)],
            ..Default::default()
        };
        let appended = client.call(request).await;
        assert_eq!(appended.thread_created, said.is_empty());
        if said.is_empty() {
            thread_id.clone_from(&appended.thread_id);
        }
        assert_eq!(appended.thread_id, thread_id);
        said.extend([question, answer]);
    }
    let stored = client.all_messages(&thread_id).await;
    assert_eq!(recollect_tests::texts(&stored), said);
}
