//! Facts in the middle of long answers.

use memory_contract::proto::{Role, SearchMethod};
use recollect_tests::{app, apply, say, search_request, texts, trial};

use super::diary;
use crate::acme;

/// Steps of a recipe: about a thousand words.
fn steps(from: usize) -> String {
    let steps = (from..from + 40).map(|step| {
        format!(
            "{step}. Fold the dough of flour, water and salt over itself, cover the bowl with a damp \
             cloth and let it rest for another half hour before the next step.\n"
        )
    });
    steps.collect()
}

#[apply(trial)]
async fn b22_a_fact_deep_in_a_long_answer_is_found_by_meaning() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let fact = "By the way, my bicycle was stolen in front of the library yesterday.";
    let long = format!("{}{fact}\n{}", steps(1), steps(41));
    let mut messages = diary::messages();
    messages.insert(messages.len() / 2, say(Role::Assistant, &long));
    let stored = client.append(&thread_id, messages).await;
    for method in [SearchMethod::Dense, SearchMethod::Hybrid] {
        let question = "Which vehicle did thieves take?";
        let mut request = search_request(&thread_id, question, &stored.revision);
        request.method = method.into();
        let found = texts(&client.search(request).await.matches);
        let place = found.iter().position(|text| text.contains(fact));
        assert!(
            place.is_some_and(|place| place < 2),
            "{method:?}: {place:?} {found:?}"
        );
    }
}
