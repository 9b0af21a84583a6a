//! Facts belong to the user who said them, and nobody's words become another one's facts.

use std::collections::{BTreeSet, HashMap};

use memory_contract::proto::{ExtractMemoriesRequest, Memory, MessageInput, Role};
use recollect_tests::{
    Answering, Client, LanguageModel, Options, Server, app, apply, by_id, say, session, trial,
    trial_with_own_server,
};
use tonic::Code;

use super::{extract_facts, extracted, said_by};
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
        extracted(client, &thread.thread_id).await;
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
    let model = LanguageModel::new();
    let mut config = model.config();
    config.push("embedding.kind = \"none\"".to_owned());
    let lines: Vec<&str> = config.iter().map(String::as_str).collect();
    let (_dir, _server, client) = Server::start_own(&Options::with(&lines)).await;
    // It takes the words of everybody for facts of whoever is asked about.
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
    // The model is told whose facts are wanted, by labels and not by ids.
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
    extracted(&client, &thread_id).await;
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
    extracted(&client, &thread_id).await;
    let bobs = client.all_memories(&app, "bob").await;
    assert_eq!(bobs.len(), 1, "{bobs:?}");
    assert!(client.all_memories(&app, "").await.is_empty());
}
