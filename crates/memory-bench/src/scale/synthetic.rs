//! Synthetic conversations with the lengths and the skew of real ones.
//!
//! The lengths of messages and sessions are log-normal, fitted to the conversations that the
//! recall quality is measured on: median 21 words, 5 % over 50; median 19 messages, 14 to 39.
//! Tenants, users and words follow Zipf's law.

use memory_contract::proto::{MessageInput, Part, Role, part};

use crate::random::Random;

/// Messages of a user, on average.
const USER_MESSAGES: usize = 450;
/// Mean and deviation of the logarithm of the words of a message, and of the messages of a
/// session.
const WORDS: (f64, f64) = (3.03, 0.58);
const SESSION: (f64, f64) = (2.95, 0.27);
/// The most frequent words, which are no help in a search.
const COMMON: [&str; 40] = [
    "the", "to", "and", "a", "of", "I", "it", "you", "that", "in", "is", "was", "for", "my", "on",
    "we", "have", "with", "so", "be", "but", "this", "are", "they", "at", "me", "your", "about",
    "just", "what", "been", "had", "from", "really", "like", "when", "how", "some", "all", "would",
];
/// Words besides these.
const RARE: usize = 20_000;
const SYLLABLES: [&str; 40] = [
    "ba", "be", "bo", "ca", "co", "da", "de", "do", "fa", "fi", "ga", "go", "ha", "he", "ka", "ki",
    "la", "le", "lo", "ma", "me", "mi", "na", "ne", "no", "pa", "pe", "po", "ra", "re", "ri", "sa",
    "se", "so", "ta", "te", "ti", "to", "va", "vi",
];

/// Numbers from 0 with probabilities of 1, 1/2, 1/3 and so on.
pub struct Zipf(Vec<f64>);

impl Zipf {
    /// So many numbers.
    pub fn new(count: usize) -> Self {
        let mut sum = 0.0;
        let cumulated = (1..=count).map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        });
        Self(cumulated.collect())
    }

    /// A random number.
    pub fn draw(&self, random: &mut Random) -> usize {
        let total = self.0.last().copied().unwrap_or_default();
        let drawn = random.unit() * total;
        self.0.partition_point(|&sum| sum <= drawn)
    }

    /// Shares of a whole, which add up to it but for rounding.
    pub fn shares(&self, whole: usize) -> Vec<usize> {
        let total = self.0.last().copied().unwrap_or(1.0);
        let shares = (1..=self.0.len()).map(|rank| (whole as f64 / rank as f64 / total) as usize);
        shares.collect()
    }
}

/// Draws words.
pub struct Language(Zipf);

impl Language {
    /// The words of all conversations.
    pub fn new() -> Self {
        Self(Zipf::new(COMMON.len() + RARE))
    }

    fn word(&self, random: &mut Random) -> String {
        let rank = self.0.draw(random);
        match COMMON.get(rank) {
            Some(word) => (*word).to_owned(),
            None => rare(rank),
        }
    }

    /// A text of so many words.
    fn text(&self, words: usize, random: &mut Random) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word(random)).collect();
        words.join(" ")
    }

    /// A question about words of the conversations.
    pub fn question(&self, random: &mut Random) -> String {
        let mut about = || loop {
            let rank = self.0.draw(random);
            if rank >= COMMON.len() {
                return rare(rank);
            }
        };
        let (first, second, third) = (about(), about(), about());
        format!("What did we say about the {first} and the {second} of {third}?")
    }
}

/// The word of a rank.
fn rare(rank: usize) -> String {
    let base = SYLLABLES.len();
    [rank % base, rank / base % base, rank / base / base]
        .iter()
        .map(|&place| SYLLABLES[place])
        .collect()
}

/// One session of a user.
pub struct Session {
    /// The user's number within the tenant.
    pub user: usize,
    /// What was said.
    pub messages: Vec<MessageInput>,
}

/// The users of a tenant with so many messages.
pub fn users(messages: usize) -> usize {
    messages.div_ceil(USER_MESSAGES).max(1)
}

/// The sessions of one tenant, one after the other.
pub struct Sessions<'a> {
    language: &'a Language,
    users: Zipf,
    /// Messages to make.
    left: usize,
    random: Random,
    /// Whether its speakers have names.
    named: bool,
}

impl<'a> Sessions<'a> {
    /// The sessions of the tenant with this number. One tenant in three has speakers without
    /// names.
    pub fn new(language: &'a Language, tenant: usize, messages: usize) -> Self {
        Self {
            language,
            users: Zipf::new(users(messages)),
            left: messages,
            random: Random::new(tenant as u64),
            named: tenant % 3 != 2,
        }
    }
}

impl Iterator for Sessions<'_> {
    type Item = Session;

    fn next(&mut self) -> Option<Session> {
        if self.left == 0 {
            return None;
        }
        let length = log_normal(SESSION, &mut self.random)
            .clamp(2, 200)
            .min(self.left);
        self.left -= length;
        let user = self.users.draw(&mut self.random);
        let messages = (0..length).map(|place| {
            let words = log_normal(WORDS, &mut self.random).clamp(1, 150);
            let text = self.language.text(words, &mut self.random);
            let (role, name) = match place % 2 {
                0 => (Role::User, rare(COMMON.len() + user)),
                _ => (Role::Assistant, "Assistant".to_owned()),
            };
            let name = if self.named { name } else { String::new() };
            message(role, name, text)
        });
        Some(Session {
            user,
            messages: messages.collect(),
        })
    }
}

/// A message for an append.
pub fn reply(language: &Language, random: &mut Random) -> MessageInput {
    let words = log_normal(WORDS, random).clamp(1, 150);
    message(Role::User, String::new(), language.text(words, random))
}

fn message(role: Role, name: String, text: String) -> MessageInput {
    MessageInput {
        role: role.into(),
        name,
        parts: vec![Part {
            content: Some(part::Content::Text(text)),
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// A log-normal number (Box and Muller), rounded.
fn log_normal((mean, deviation): (f64, f64), random: &mut Random) -> usize {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    let normal = radius * (std::f64::consts::TAU * random.unit()).cos();
    (mean + deviation * normal).exp().round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_real_conversations() {
        let language = Language::new();
        let sessions: Vec<Session> = Sessions::new(&language, 0, 20_000).collect();
        let messages = sessions.iter().flat_map(|session| &session.messages);
        let mut words: Vec<usize> = messages
            .map(|message| match &message.parts[0].content {
                Some(part::Content::Text(text)) => text.split(' ').count(),
                other => panic!("{other:?}"),
            })
            .collect();
        words.sort_unstable();
        assert_eq!(words.len(), 20_000);
        assert!((20..=22).contains(&words[10_000]), "{}", words[10_000]);
        assert!((48..=60).contains(&words[19_000]), "{}", words[19_000]);
        let mut lengths: Vec<usize> = sessions.iter().map(|one| one.messages.len()).collect();
        lengths.sort_unstable();
        let median = lengths[lengths.len() / 2];
        assert!((18..=20).contains(&median), "{median}");
    }

    #[test]
    fn the_largest_of_a_thousand_tenants_has_an_eighth() {
        let shares = Zipf::new(1_000).shares(1_000_000);
        assert!((130_000..137_000).contains(&shares[0]), "{}", shares[0]);
        assert!((120..150).contains(&shares[999]), "{}", shares[999]);
        let mut random = Random::new(3);
        let zipf = Zipf::new(1_000);
        let first = (0..10_000).filter(|_| zipf.draw(&mut random) == 0).count();
        assert!((1_200..1_500).contains(&first), "{first}");
    }
}
