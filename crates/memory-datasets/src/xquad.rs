//! XQuAD: the same paragraphs and questions in several languages, a file each. Each paragraph
//! is one message. Questions of other languages are also asked over the English paragraphs.

use std::collections::BTreeMap;

use memory_contract::proto::Role;
use serde::Deserialize;

use super::shape::{Conversation, Failure, Question, message};

/// The language that questions of others are asked over too.
const ENGLISH: &str = "en";

#[derive(Deserialize)]
struct File {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    qas: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
}

/// Whether a file has this format.
pub fn is_xquad(file: &serde_json::Value) -> bool {
    file.pointer("/data/0/paragraphs").is_some()
}

/// Reads the paragraphs of one language, which the file's name says, as one session. The ids of
/// evidence are the numbers of paragraphs, the same in each language.
pub fn parse(name: &str, file: serde_json::Value) -> Result<Conversation, Failure> {
    let File { data } = serde_json::from_value(file)?;
    let mut messages = Vec::new();
    let mut questions = Vec::new();
    let paragraphs = data.into_iter().flat_map(|article| article.paragraphs);
    for (paragraph, number) in paragraphs.zip(1_u32..) {
        let id = number.to_string();
        messages.push(message(Role::User, &paragraph.context, &id));
        questions.extend(paragraph.qas.into_iter().map(|asked| Question {
            text: asked.question,
            answer: String::new(),
            evidence: [id.clone()].into(),
            category: name.to_owned(),
            user: name.to_owned(),
            before: None,
        }));
    }
    Ok(Conversation {
        name: name.to_owned(),
        language: name.to_owned(),
        sessions: BTreeMap::from([(1, messages)]),
        questions,
        without_evidence: 0,
    })
}

/// Adds the questions of other languages over the English paragraphs, where a directory has
/// these.
pub fn ask_across_languages(conversations: &mut [Conversation]) {
    let has_english = conversations.iter().any(|one| one.name == ENGLISH);
    for conversation in conversations {
        if conversation.language == ENGLISH || !has_english {
            continue;
        }
        let across: Vec<Question> = conversation
            .questions
            .iter()
            .map(|question| Question {
                category: format!("{} over {ENGLISH}", conversation.language),
                user: ENGLISH.to_owned(),
                ..question.clone()
            })
            .collect();
        conversation.questions.extend(across);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_answered_by_its_paragraph_and_by_the_english_one() {
        let file = |question: &str| {
            serde_json::json!({"data": [{"paragraphs": [
                {"context": "Berlin", "qas": [{"question": question}]},
                {"context": "Paris", "qas": []}]}]})
        };
        assert!(is_xquad(&file("Where?")));
        let mut all = [
            parse("de", file("Wo?")).unwrap(),
            parse("en", file("Where?")).unwrap(),
        ];
        ask_across_languages(&mut all);
        let asked = |number: usize| {
            let all = all[number].questions.iter();
            all.map(|one| (one.category.as_str(), one.user.as_str()))
                .collect::<Vec<_>>()
        };
        assert_eq!(asked(0), [("de", "de"), ("de over en", "en")]);
        assert_eq!(asked(1), [("en", "en")]);
        assert_eq!(all[0].message_count(), 2);
    }
}
