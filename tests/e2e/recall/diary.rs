//! A conversation of some length, for tests of recall.

use memory_contract::proto::{AppendMessagesResponse, MessageInput, Role};
use recollect_tests::{Client, say};

/// Talks about many things. The facts that tests ask for are in the first half,
/// far from the recent window.
pub const TALK: &[(&str, &str)] = &[
    (
        "Good morning! I slept badly.",
        "Good morning, I hope that the day goes better.",
    ),
    (
        "My daughter Mirela is allergic to peanuts.",
        "I will keep that in mind for any recipe.",
    ),
    (
        "The rent went up again this month.",
        "That is annoying. By how much?",
    ),
    (
        "We adopted a greyhound, he is called Biscuit.",
        "Congratulations! Greyhounds are gentle.",
    ),
    (
        "The error code of the heating is E-4417.",
        "Thank you, I note the code for the technician.",
    ),
    (
        "I prefer aisle seats when I fly.",
        "Noted, I will look for the aisle.",
    ),
    (
        "My sister works as a cardiologist in Porto.",
        "A demanding profession in a lovely city.",
    ),
    (
        "The order number of the sofa is QX-88213-B.",
        "I can ask where the sofa is.",
    ),
    (
        "On Thursdays I have violin lessons.",
        "Shall I keep Thursdays free of meetings?",
    ),
    (
        "I cannot stand coriander.",
        "Then no coriander in the salad.",
    ),
    (
        "Which laptop should I buy?",
        "It depends on what you want to do with it.",
    ),
    (
        "Mostly spreadsheets and films.",
        "Then nearly any recent machine will do.",
    ),
    (
        "How tall is Mont Blanc?",
        "About 4,806 metres, and it changes a little.",
    ),
    (
        "Write a poem about rain.",
        "Soft on the roof it falls, a thousand feet in felt.",
    ),
    ("What is the capital of Mongolia?", "Ulaanbaatar."),
    ("Translate good evening into Danish.", "God aften."),
    (
        "How do I remove red wine from a carpet?",
        "Blot it, then use cold water and salt.",
    ),
    (
        "What does idempotent mean?",
        "Doing it twice has the same effect as doing it once.",
    ),
    ("Is tomato a fruit?", "Botanically, yes."),
    ("Suggest a film for tonight.", "How about an old comedy?"),
    ("Something shorter.", "Then a documentary of half an hour."),
    ("Thanks, that will do.", "Enjoy your evening!"),
];

/// The messages of the talk.
pub fn messages() -> Vec<MessageInput> {
    TALK.iter()
        .flat_map(|(question, answer)| [say(Role::User, question), say(Role::Assistant, answer)])
        .collect()
}

/// Stores the talk in a thread.
pub async fn store(client: &Client, thread_id: &str) -> AppendMessagesResponse {
    client.append(thread_id, messages()).await
}
