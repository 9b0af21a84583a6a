//! Which messages prove a fact of a user.

use std::collections::HashSet;

use crate::SourceMessage;
use crate::extractive::content;

/// The messages of a prompt as proof of one user's facts.
pub(super) struct Proof<'a> {
    owner: &'a str,
    sources: &'a [&'a SourceMessage],
    /// The content words of each message; none where only one user speaks.
    words: Vec<HashSet<String>>,
    /// The words of the owner's names: they do not say what is said of the owner.
    names: HashSet<String>,
}

impl<'a> Proof<'a> {
    pub(super) fn new(owner: &'a str, sources: &'a [&'a SourceMessage]) -> Self {
        let has_others = sources
            .iter()
            .any(|source| source.is_said_by_another(owner));
        let mut words: Vec<HashSet<String>> = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        if has_others {
            let said = sources.iter().map(|source| content(&source.words()));
            words = said.map(HashSet::from_iter).collect();
            let own = sources.iter().filter(|source| source.is_said_by(owner));
            names = own.flat_map(|source| content(source.speaker())).collect();
        }
        Self {
            owner,
            sources,
            words,
            names,
        }
    }

    /// Whether the messages at these places prove a fact of the owner: the owner said one of them,
    /// and no other user did. What a model or a tool says may only go with it, such as the question
    /// that it answers.
    ///
    /// A model may name a message of the owner for the words of another. So where several users
    /// speak, it does not prove a fact if none of the owner's messages among the evidence has more
    /// than half of the fact's content words, while a message that the owner did not say has half of
    /// them or more, and more than those.
    pub(super) fn holds(&self, evidence: &[usize], fact: &str) -> bool {
        let is_own = |place: &usize| self.sources[*place].is_said_by(self.owner);
        let by_another = |place: &usize| self.sources[*place].is_said_by_another(self.owner);
        if !evidence.iter().any(is_own) || evidence.iter().any(by_another) {
            return false;
        }
        if self.words.is_empty() {
            return true;
        }
        let mut words: HashSet<String> = content(fact).into_iter().collect();
        words.retain(|word| !self.names.contains(word));
        let said = |place: usize| self.words[place].intersection(&words).count();
        let own = evidence.iter().copied().filter(is_own).map(said).max();
        let own = own.unwrap_or(0);
        let others = (0..self.sources.len()).filter(|place| !is_own(place));
        let other = others.map(said).max().unwrap_or(0);
        2 * own > words.len() || 2 * other < words.len() || other <= own
    }
}

#[cfg(test)]
mod tests {
    use memory_contract::{UserId, message::Role};

    use super::*;
    use crate::distiller::tests::source;

    fn said(role: Role, user: &str, name: &str, text: &str) -> SourceMessage {
        let mut said = source(text);
        said.message.role = role;
        said.message.said_by = UserId::new(user);
        said.message.name = name.to_owned();
        said
    }

    #[test]
    fn a_fact_of_a_user_needs_a_message_of_this_user_and_none_of_another() {
        let sources = [
            said(Role::User, "ada", "Ada", "We love jazz."),
            said(Role::User, "bob", "Bob", "We love jazz."),
            said(Role::Assistant, "", "", "We love jazz."),
            said(Role::Tool, "", "", "We love jazz."),
        ];
        let sources: Vec<&SourceMessage> = sources.iter().collect();
        for (evidence, owner, expected) in [
            (&[0][..], "ada", true),
            (&[0, 2, 3], "ada", true),
            (&[1], "ada", false),
            (&[2, 3], "ada", false),
            (&[0, 1], "ada", false),
            (&[0, 1], "bob", false),
            (&[1], "bob", true),
            (&[2], "", false),
            (&[], "ada", false),
        ] {
            let holds = Proof::new(owner, &sources).holds(evidence, "Loves jazz");
            assert_eq!(holds, expected, "{evidence:?} {owner}");
        }
    }

    #[test]
    fn the_words_of_another_are_not_proven_by_a_message_of_the_user_that_says_something_else() {
        let sources = [
            said(Role::User, "ada", "Ada", "Hello all"),
            said(Role::User, "bob", "Bob", "I'm allergic to nuts"),
            said(
                Role::User,
                "ada",
                "Ada",
                "I'm allergic to cats, and a baker",
            ),
            said(Role::Assistant, "", "", "Ada bakes? I prefer trains."),
        ];
        let sources: Vec<&SourceMessage> = sources.iter().collect();
        let check = |fact: &str, evidence: &[usize], expected: bool| {
            let holds = Proof::new("ada", &sources).holds(evidence, fact);
            assert_eq!(holds, expected, "{fact} {evidence:?}");
        };
        check("Is allergic to nuts", &[0], false);
        check("Ada is allergic to nuts", &[0], false);
        // Half of it is the same.
        check("Ada is allergic to nuts", &[2], false);
        check("Ada is allergic to nuts", &[0, 2], false);
        check("Ada prefers trains", &[0], false);
        check("Ada is allergic to cats", &[2], true);
        check("Ada is a baker", &[2], true);
        // Said by none in these words: the evidence counts.
        check("Ada verträgt keine Katzen", &[2], true);
        check("Ada", &[0], true);

        // Where only one user speaks, a model's question may say more than the answer.
        let sources = [
            said(Role::Assistant, "", "", "Are you allergic to nuts?"),
            said(Role::User, "ada", "Ada", "Yes."),
        ];
        let sources: Vec<&SourceMessage> = sources.iter().collect();
        let proof = Proof::new("ada", &sources);
        assert!(proof.holds(&[0, 1], "Ada is allergic to nuts"));
    }
}
