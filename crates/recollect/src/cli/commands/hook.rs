//! `recollect hook`: memory for the hooks of Claude Code
//! (<https://code.claude.com/docs/en/hooks>), Codex (<https://developers.openai.com/codex/hooks>)
//! and Gemini CLI (<https://geminicli.com/docs/hooks/reference>).

use std::fmt;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use memory_checksum::id_of;
use memory_contract::limits;
use memory_contract::proto::{
    AppendMessagesRequest, BuildContextRequest, MemoryPolicy, MessageInput, Role, SessionRef,
    part::Content,
};
use memory_proxy::{fitting_text, quotations};
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;
use tonic::Status;

use crate::cli::args::HookArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;

/// The agent waits for no longer.
const TIME: Duration = Duration::from_secs(2);
/// The prompt is stored after the search, which would find it otherwise, but no later than this.
const SEARCH_TIME: Duration = Duration::from_secs(1);
/// An event is a prompt or an answer, with a little around it.
const EVENT_BYTES: u64 = 4 * 1024 * 1024;
/// What Claude Code reads of a hook at most is 10,000 characters.
const BYTES: usize = 8_000;
/// The newest messages of the conversation, which the agent has itself. They are not searched for.
const RECENT: i32 = 100;
/// Room for these and for what is quoted.
const TOKENS: i32 = 100_000;

/// What Gemini CLI calls the event before a prompt.
const BEFORE_AGENT: &str = "BeforeAgent";

/// An event, as the agent describes it.
#[derive(Debug, Deserialize)]
struct Event {
    hook_event_name: String,
    session_id: String,
    /// The turn, which Codex alone names.
    turn_id: Option<String>,
    /// The file that the agent writes its conversation to.
    transcript_path: Option<PathBuf>,
    #[serde(default)]
    prompt: String,
    /// The answer, for which Gemini CLI has another name. Codex may send `null`.
    #[serde(alias = "prompt_response")]
    last_assistant_message: Option<String>,
}

/// Answers one event. Whatever goes wrong is said on standard error, and the agent goes on.
///
/// # Errors
/// None: an error would be shown in each prompt.
pub async fn run(args: HookArgs) -> Result<(), Failure> {
    let answered = match event() {
        Err(problem) => Err(problem),
        // Only the server is waited for, not the agent.
        Ok(event) => match timeout(TIME, answer(&args, event)).await {
            Ok(answered) => answered,
            Err(_) => Err(format!(
                "the server at {} does not answer",
                args.server.addr
            )),
        },
    };
    if let Err(problem) = answered {
        write(io::stderr(), format_args!("recollect: {problem}\n"));
    }
    Ok(())
}

/// Writes a text. An agent that does not read it any more is no error.
fn write(mut to: impl io::Write, text: fmt::Arguments<'_>) {
    let _ = to.write_fmt(text).and_then(|()| to.flush());
}

async fn answer(args: &HookArgs, event: Event) -> Result<(), String> {
    let request_id = event.request_id(args).unwrap_or_default();
    let session = SessionRef {
        app_id: args.app.clone(),
        user_id: args.user.clone(),
        session_key: event.session_id,
        agent_session_key: String::new(),
    };
    let client = Client::connect(&args.server);
    let client = client.await.map_err(|failure| failure.to_string())?;
    let name = event.hook_event_name.as_str();
    let (role, text) = match name {
        "UserPromptSubmit" | BEFORE_AGENT => (Role::User, event.prompt),
        "Stop" | "AfterAgent" => (
            Role::Assistant,
            event.last_assistant_message.unwrap_or_default(),
        ),
        other => return Err(format!("the event {other:?} is not known")),
    };
    let message = MessageInput {
        role: role.into(),
        parts: vec![Content::Text(fitting_text(text.clone())).into()],
        ..Default::default()
    };
    let append = AppendMessagesRequest {
        thread: Some(session.clone().into()),
        messages: vec![message],
        request_id,
        ..Default::default()
    };
    let store = async {
        match text.trim().is_empty() {
            true => Ok(()),
            false => store(&client, append).await,
        }
    };
    if role != Role::User {
        return store.await;
    }
    let mut search = pin!(recalled(&client, &session, &text));
    let early = timeout(SEARCH_TIME, &mut search).await;
    let (found, stored) = match early {
        Ok(found) => (found.map(|text| show(name, text)), store.await),
        Err(_) => {
            let search = async { search.await.map(|text| show(name, text)) };
            tokio::join!(search, store)
        }
    };
    found.and(stored)
}

/// Gives the agent a text: Gemini CLI in JSON, the others as it is.
fn show(event: &str, text: String) {
    if event != BEFORE_AGENT {
        write(io::stdout(), format_args!("{text}"));
    } else if !text.is_empty() {
        let output = json!({
            "hookSpecificOutput": {"hookEventName": event, "additionalContext": text}
        });
        write(io::stdout(), format_args!("{output}"));
    }
}

impl Event {
    /// The same UUID for the same event, such as of hooks in two files of the agent. The turn, or
    /// the length of the transcript, tells events with the same text apart; without both there is
    /// no UUID.
    fn request_id(&self, args: &HookArgs) -> Option<String> {
        let turn = match &self.turn_id {
            Some(turn) => turn.clone(),
            None => {
                let transcript = self.transcript_path.as_ref()?;
                transcript.metadata().ok()?.len().to_string()
            }
        };
        let answer = self.last_assistant_message.as_deref().unwrap_or_default();
        let texts = [
            turn.as_str(),
            &args.app,
            &args.user,
            &self.session_id,
            &self.hook_event_name,
            &self.prompt,
            answer,
        ];
        Some(id_of(&texts.map(str::as_bytes)).to_string())
    }
}

fn event() -> Result<Event, String> {
    let mut text = String::new();
    io::stdin()
        .take(EVENT_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| format!("cannot read standard input: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("standard input is no event: {error}"))
}

/// What is remembered about a prompt, as quotations.
async fn recalled(client: &Client, session: &SessionRef, prompt: &str) -> Result<String, String> {
    let query: String = prompt.chars().take(limits::QUERY_CHARS).collect();
    if query.trim().is_empty() {
        return Ok(String::new());
    }
    let request = BuildContextRequest {
        thread: Some(session.clone().into()),
        query,
        max_tokens: Some(TOKENS),
        policy: Some(MemoryPolicy {
            recent_window: Some(RECENT),
            ..Default::default()
        }),
        ..Default::default()
    };
    let context = client.contexts().build_context(request).await;
    let context = context.map_err(|status| in_words(&status))?.into_inner();
    let quoted = quotations(&context.blocks, BYTES);
    Ok(match quoted.is_empty() {
        true => quoted,
        false => quoted + "\n",
    })
}

async fn store(client: &Client, append: AppendMessagesRequest) -> Result<(), String> {
    let stored = client.messages().append_messages(append).await;
    stored.map(drop).map_err(|status| in_words(&status))
}

fn in_words(status: &Status) -> String {
    status.message().to_owned()
}
