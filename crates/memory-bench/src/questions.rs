//! Questions that no call repeats, so that no cache of queries or results shortens a call.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use memory_datasets::Conversation;

use crate::{Failure, clients::Clients, random::Random};

/// Words before and after a question that make it another text with about the same meaning.
const BEFORE: [&str; 8] = [
    "",
    "Do you remember:",
    "Remind me:",
    "I forgot:",
    "Tell me:",
    "One more thing:",
    "By the way:",
    "Just to be sure:",
];
const AFTER: [&str; 6] = [
    "",
    "Please answer briefly.",
    "I need it today.",
    "It matters to me.",
    "Take your time.",
    "Thank you.",
];

/// One question and where it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The newest thread of its user.
    pub thread: String,
    /// The user.
    pub user: String,
    /// The question.
    pub question: String,
}

/// Hands out questions, each text once. After all variants of all questions they repeat.
#[derive(Clone)]
pub struct Questions {
    asked: Arc<Vec<Asked>>,
    next: Arc<AtomicUsize>,
}

impl Questions {
    /// The questions of the conversations in `app`, in random order.
    pub async fn new(
        clients: &mut Clients,
        app: &str,
        conversations: &[Conversation],
        random: &mut Random,
    ) -> Result<Self, Failure> {
        let mut asked = Vec::new();
        for conversation in conversations {
            let newest = conversation.sessions.keys().next_back().unwrap_or(&0);
            let key = format!("session:{}/{newest}", conversation.name);
            let thread = clients.thread(app, &conversation.name, &key).await?;
            asked.extend(conversation.questions.iter().map(|question| Asked {
                thread: thread.clone(),
                user: conversation.name.clone(),
                question: question.text.clone(),
            }));
        }
        if asked.is_empty() {
            return Err("the conversations have no questions to recall with".into());
        }
        random.shuffle(&mut asked);
        Ok(Self::of(asked))
    }

    fn of(asked: Vec<Asked>) -> Self {
        Self {
            asked: Arc::new(asked),
            next: Arc::default(),
        }
    }

    /// The next question, which no other call has asked.
    pub fn next(&self) -> Asked {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let asked = &self.asked[number % self.asked.len()];
        let variant = number / self.asked.len();
        let before = BEFORE[variant % BEFORE.len()];
        let after = AFTER[variant / BEFORE.len() % AFTER.len()];
        let words = [before, asked.question.as_str(), after];
        let words: Vec<&str> = words.into_iter().filter(|part| !part.is_empty()).collect();
        Asked {
            question: words.join(" "),
            ..asked.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_question_is_asked_twice() {
        let asked = |question: &str| Asked {
            thread: "thread".to_owned(),
            user: "ada".to_owned(),
            question: question.to_owned(),
        };
        let questions = Questions::of(vec![asked("Where is Pixel?"), asked("Who swims?")]);
        let all = 2 * BEFORE.len() * AFTER.len();
        let texts: HashSet<String> = (0..all).map(|_| questions.next().question).collect();
        assert_eq!(texts.len(), all);
    }
}
