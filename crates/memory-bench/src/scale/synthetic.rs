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
        self.draw_below(self.0.len(), random)
    }

    /// A random number below `limit`, with the same proportions.
    pub fn draw_below(&self, limit: usize, random: &mut Random) -> usize {
        let sums = &self.0[..limit.min(self.0.len())];
        let drawn = random.unit() * sums.last().copied().unwrap_or_default();
        sums.partition_point(|&sum| sum <= drawn)
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
    tenant: usize,
    /// Its number within the tenant, from 0.
    pub number: usize,
    /// The user's number within the tenant.
    pub user: usize,
    /// The messages of the tenant before it, and its own.
    pub before: usize,
    pub length: usize,
    /// After the draws of user and length.
    random: Random,
}

/// The users of a tenant with so many messages.
pub fn users(messages: usize) -> usize {
    messages.div_ceil(USER_MESSAGES).max(1)
}

/// The sessions of one tenant, one after the other. Users join as messages are made.
pub struct Sessions {
    tenant: usize,
    users: Zipf,
    /// The messages after which the tenant is measured, ascending: a session ends there.
    sizes: Vec<usize>,
    number: usize,
    made: usize,
}

impl Sessions {
    /// The sessions of the tenant with this number, until it has as many messages as the last
    /// of the sizes.
    pub fn new(tenant: usize, sizes: Vec<usize>) -> Self {
        let most = sizes.last().copied().unwrap_or_default();
        Self {
            tenant,
            users: Zipf::new(users(most)),
            sizes,
            number: 0,
            made: 0,
        }
    }
}

impl Iterator for Sessions {
    type Item = Session;

    fn next(&mut self) -> Option<Session> {
        let (number, before) = (self.number, self.made);
        let size = *self.sizes.iter().find(|size| **size > before)?;
        let mut random = Random::of([self.tenant as u64, number as u64]);
        let length = log_normal(SESSION, &mut random)
            .clamp(2, 200)
            .min(size - before);
        let user = self.users.draw_below(users(before + length), &mut random);
        self.number += 1;
        self.made += length;
        Some(Session {
            tenant: self.tenant,
            number,
            user,
            before,
            length,
            random,
        })
    }
}

impl Session {
    /// What is said. One tenant in three has speakers without names.
    pub fn messages(mut self, language: &Language) -> Vec<MessageInput> {
        let named = self.tenant % 3 != 2;
        let messages = (0..self.length).map(|place| {
            let words = log_normal(WORDS, &mut self.random).clamp(1, 150);
            let text = language.text(words, &mut self.random);
            let (role, name) = match place % 2 {
                0 => (Role::User, rare(COMMON.len() + self.user)),
                _ => (Role::Assistant, "Assistant".to_owned()),
            };
            message(role, if named { name } else { String::new() }, text)
        });
        messages.collect()
    }

    /// A UUID that is the same in every run, so that repeating its import is safe.
    pub fn request_id(&self) -> uuid::Uuid {
        let (tenant, number) = (self.tenant as u128, self.number as u128);
        uuid::Builder::from_random_bytes((tenant << 64 | number).to_be_bytes()).into_uuid()
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
        let sessions: Vec<Session> = Sessions::new(0, vec![20_000]).collect();
        let mut lengths: Vec<usize> = sessions.iter().map(|one| one.length).collect();
        let messages = sessions.into_iter().flat_map(|one| one.messages(&language));
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
        lengths.sort_unstable();
        let median = lengths[lengths.len() / 2];
        assert!((18..=20).contains(&median), "{median}");
    }

    #[test]
    fn a_tenant_grows_from_size_to_size() {
        let sessions: Vec<Session> = Sessions::new(3, vec![1, 1, 1_000, 9_000]).collect();
        let ends = |size| sessions.iter().any(|one| one.before + one.length == size);
        assert!(ends(1) && ends(1_000) && ends(9_000));
        assert_eq!(sessions.iter().map(|one| one.length).sum::<usize>(), 9_000);
        let newcomers = sessions.iter().filter(|one| one.user >= users(1_000));
        assert!(newcomers.clone().count() > 0);
        assert!(newcomers.clone().all(|one| one.before + one.length > 1_000));
        let ids: std::collections::HashSet<_> = sessions.iter().map(Session::request_id).collect();
        assert_eq!(ids.len(), sessions.len());
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
