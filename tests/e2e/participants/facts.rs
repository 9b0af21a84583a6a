//! Facts belong to the user who said them, and the words of one user become no facts of another.

use std::collections::{BTreeSet, HashMap};

use memory_contract::proto::{
    ExtractMemoriesRequest, ExtractionStrategy, Memory, MemoryPolicy, MessageInput, Role,
};
use recollect_tests::{
    Answering, Client, DataDir, LanguageModel, Options, SOON, Server, app, apply, by_id,
    eventually, say, session, trial, trial_with_own_server,
};
use tonic::Code;

use super::{extract_facts, said_by};
use crate::plain;

/// 60 sentences in three languages.
const SENTENCES: &str = include_str!("sentences.tsv");

#[derive(Clone, Debug)]
struct Sentence {
    language: &'static str,
    said_by: &'static str,
    /// The user whose fact it may become.
    owner: Option<&'static str>,
    text: &'static str,
}

fn sentences() -> Vec<Sentence> {
    let lines = SENTENCES.lines().filter(|line| !line.starts_with('#'));
    let sentences: Vec<Sentence> = lines
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let [language, said_by, owner, text] = columns[..] else {
                panic!("{line}");
            };
            Sentence {
                language,
                said_by,
                owner: Some(owner).filter(|owner| *owner != "-"),
                text,
            }
        })
        .collect();
    assert_eq!(sentences.len(), 60);
    sentences
}

/// Appends the sentences, those of a language to a thread of `user`, and waits until facts were
/// extracted. Returns them by the ids of their messages.
async fn tell(client: &Client, app: &str, user: &str) -> HashMap<String, Sentence> {
    let mut told = HashMap::new();
    for language in ["en", "de", "es"] {
        let said: Vec<Sentence> = sentences()
            .into_iter()
            .filter(|sentence| sentence.language == language)
            .collect();
        let message = |sentence: &Sentence| -> MessageInput {
            match sentence.said_by {
                "assistant" => say(Role::Assistant, sentence.text),
                // The thread's user need not be named.
                speaker if speaker == user => say(Role::User, sentence.text),
                speaker => said_by(speaker, sentence.text),
            }
        };
        let thread = client.resolve(session(app, user, language)).await;
        let messages = said.iter().map(message).collect();
        let appended = client.append(&thread.thread_id, messages).await;
        client.extracted(&thread.thread_id).await;
        let ids = appended.messages.into_iter().map(|one| one.message_id);
        told.extend(ids.zip(said));
    }
    told
}

/// The facts of both users. No one else has any.
async fn facts(client: &Client, app: &str) -> Vec<Memory> {
    assert!(client.all_memories(app, "").await.is_empty());
    let mut all = client.all_memories(app, "ada").await;
    all.extend(client.all_memories(app, "bob").await);
    all
}

/// A new server that asks a model, and its client.
async fn start(lines: &[&str]) -> (DataDir, LanguageModel, Server, Client) {
    let model = LanguageModel::new();
    let mut config = model.config();
    config.push("embedding.kind = \"none\"".to_owned());
    config.extend(lines.iter().map(|&line| line.to_owned()));
    let lines: Vec<&str> = config.iter().map(String::as_str).collect();
    let (dir, server, client) = Server::start_own(&Options::with(&lines)).await;
    (dir, model, server, client)
}

/// How many sentences may become facts.
fn possible() -> usize {
    let sentences = sentences();
    sentences
        .iter()
        .filter(|sentence| sentence.owner.is_some())
        .count()
}

#[apply(trial)]
async fn f17_no_words_of_another_become_a_fact_without_a_model() {
    let client = plain().await;
    for user in ["ada", ""] {
        let app = app();
        extract_facts(&client, &app).await;
        let told = tell(&client, &app, user).await;
        let mut found = BTreeSet::new();
        for memory in facts(&client, &app).await {
            assert!(!memory.source_message_ids.is_empty(), "{memory:?}");
            for id in &memory.source_message_ids {
                let sentence = &told[id];
                assert_eq!(
                    sentence.owner,
                    Some(&*memory.user_id),
                    "{sentence:?} {memory:?}"
                );
                found.insert(sentence.text);
            }
        }
        println!(
            "without a model, in threads of {user:?}: {} of {} facts were found, none for another",
            found.len(),
            possible()
        );
        let english = sentences().into_iter();
        let english = english.filter(|one| one.language == "en" && one.owner.is_some());
        for sentence in english {
            assert!(found.contains(sentence.text), "{sentence:?}");
        }
    }
}

#[apply(trial_with_own_server)]
async fn f17_no_words_of_another_become_a_fact_whatever_a_model_says() {
    let (_dir, model, _server, client) = start(&[]).await;
    // It takes the words of all for facts of the user who is asked about, also with messages of this
    // user as evidence.
    model.answers(Answering::ForEveryone);
    for user in ["ada", ""] {
        let app = app();
        extract_facts(&client, &app).await;
        let told = tell(&client, &app, user).await;
        let mut found = BTreeSet::new();
        for memory in facts(&client, &app).await {
            let texts: Vec<&str> = memory.text.split(" / ").collect();
            let sources = memory.source_message_ids.iter().map(|id| &told[id]);
            let said = sources.chain(told.values().filter(|one| texts.contains(&one.text)));
            for sentence in said {
                assert_eq!(sentence.said_by, memory.user_id, "{memory:?}");
                if sentence.owner.is_some() {
                    found.insert(sentence.text);
                }
            }
        }
        println!(
            "with a model that confuses speakers, in threads of {user:?}: {} of {} facts were \
             found, none for another",
            found.len(),
            possible()
        );
        assert_eq!(found.len(), possible());
    }
    // The prompt names the user whose facts are wanted by a label and not by an id.
    let asked = model.asked();
    let asked = asked
        .iter()
        .filter(|asked| asked.system.contains("\"facts\"") && asked.user.contains("Bergen"));
    let mut wanted = BTreeSet::new();
    for asked in asked {
        assert!(asked.user.contains("\"speaker\":\"p1\""), "{}", asked.user);
        assert!(!asked.user.contains("\"bob\""), "{}", asked.user);
        let labels = ["p1", "p2"].into_iter();
        wanted.extend(labels.filter(|label| asked.system.contains(&format!("only what {label}"))));
    }
    assert_eq!(wanted, BTreeSet::from(["p1", "p2"]));
}

#[apply(trial_with_own_server)]
async fn f17_unusable_answers_about_one_user_leave_the_facts_of_the_others() {
    let (_dir, model, _server, client) = start(&["worker.distill.model_attempts = 1"]).await;
    let app = app();
    // Only a model can follow instructions: after its last attempt a user's facts are given up.
    let policy = MemoryPolicy {
        extraction: ExtractionStrategy::Custom.into(),
        extraction_instructions: Some("Take towns.".to_owned()),
        ..Default::default()
    };
    client.set_policy(&app, policy).await;
    model.answers(Answering::UnusableAbout("only what p2 ".to_owned()));
    let thread_id = client.thread(&app).await;
    let said = vec![
        say(Role::User, "FACT(Ada lives in Bergen.)"),
        said_by("bob", "FACT(Bob lives in Rome.)"),
        said_by("cora", "FACT(Cora lives in Turin.)"),
    ];
    client.append(&thread_id, said).await;
    for user in ["ada", "cora"] {
        eventually("a fact is stored", SOON, async || {
            client.all_memories(&app, user).await.len() == 1
        })
        .await;
    }
    assert!(client.all_memories(&app, "bob").await.is_empty());
}

#[apply(trial_with_own_server)]
async fn f17_a_budget_that_is_spent_between_two_users_keeps_the_facts_of_the_first() {
    // The first calls fit, and not those for all users.
    let lines = [
        "distill.daily_token_budget = 3300",
        "distill.generation.max_output_tokens = 2000",
    ];
    let (_dir, model, _server, client) = start(&lines).await;
    let app = app();
    extract_facts(&client, &app).await;
    let towns = [
        "Oslo", "Rome", "Bern", "Turin", "Lima", "Paris", "Delhi", "Cairo",
    ];
    let user = |place: usize| format!("user-{place}");
    let said = towns.iter().enumerate().map(|(place, town)| {
        let text = format!("I live in {town}. FACT(Likes {town} best.)");
        said_by(&user(place), &text)
    });
    let thread_id = client.thread_of(&app, &user(0)).await;
    client.append(&thread_id, said.collect()).await;
    client.extracted(&thread_id).await;
    // The model is asked once for each of the first users.
    let asked = model.asked();
    assert!((1..towns.len()).contains(&asked.len()), "{}", asked.len());
    for (number, asked) in (1..).zip(&asked) {
        let label = format!("only what p{number} ");
        assert!(asked.system.contains(&label), "{}", asked.system);
    }
    for (place, town) in towns.iter().enumerate() {
        let expected = match place < asked.len() {
            true => format!("Likes {town} best."),
            false => format!("I live in {town}."),
        };
        let memories = client.all_memories(&app, &user(place)).await;
        assert!(
            memories
                .iter()
                .any(|memory| memory.text.contains(&expected)),
            "{expected} {memories:?}"
        );
    }
}

#[apply(trial)]
async fn f17_facts_are_superseded_only_by_the_same_user() {
    let client = plain().await;
    let app = app();
    extract_facts(&client, &app).await;
    let thread_id = client.thread(&app).await;
    let said = vec![
        say(Role::User, "I live in Oslo."),
        said_by("bob", "I live in Rome."),
        say(Role::Assistant, "Two fine cities."),
        said_by("bob", "I just moved to Bern."),
    ];
    client.append(&thread_id, said).await;
    client.extracted(&thread_id).await;
    let adas = client.all_memories(&app, "ada").await;
    assert_eq!(adas.len(), 1, "{adas:?}");
    assert!(adas[0].superseded_by.is_empty());
    let bobs = client.all_memories(&app, "bob").await;
    assert!(
        bobs.iter().all(|memory| memory.user_id == "bob"),
        "{bobs:?}"
    );
    assert!(bobs.iter().any(|memory| memory.text.contains("Bern")));
    for memory in bobs {
        assert_eq!(memory.thread_id, thread_id);
    }
}

#[apply(trial)]
async fn f17_a_thread_in_which_no_user_is_named_gives_no_facts() {
    let client = plain().await;
    let app = app();
    extract_facts(&client, &app).await;
    let thread_id = client.resolve(session(&app, "", "shared")).await.thread_id;
    client.append_text(&thread_id, "I live in Oslo.").await;
    let request = ExtractMemoriesRequest {
        thread: by_id(&thread_id),
        max_wait: None,
    };
    client
        .refused(request)
        .await
        .is(Code::FailedPrecondition, "EXTRACTION_OFF");
    // Once one is named, this user's words are read.
    let named = vec![said_by("bob", "I live in Rome.")];
    client.append(&thread_id, named).await;
    client.extracted(&thread_id).await;
    let bobs = client.all_memories(&app, "bob").await;
    assert_eq!(bobs.len(), 1, "{bobs:?}");
    assert!(client.all_memories(&app, "").await.is_empty());
}
