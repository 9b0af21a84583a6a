//! Retries, limits and the circuit breaker of a model's calls. The clock is paused and
//! advances with the pauses alone.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use memory_distill::{Account, Answer, CallsConfig, ModelError, NoKeys, Reliable};
use support::{Purse, Script, account, prompt, said, tenant, usage};
use tokio::time::Instant;

const PAUSE: Duration = Duration::from_secs(30);

fn calls() -> CallsConfig {
    CallsConfig {
        breaker_pause: PAUSE,
        ..CallsConfig::default()
    }
}

fn reliable(script: Script, calls: &CallsConfig) -> (Arc<Script>, Arc<Reliable>) {
    let script = Arc::new(script);
    let reliable = Reliable::new(script.clone(), "distill.calls", calls).unwrap();
    (script, Arc::new(reliable))
}

async fn ask(model: &Reliable) -> Result<Answer, ModelError> {
    model.ask(account(&tenant()), &prompt()).await
}

fn failing(count: usize, error: ModelError) -> impl Iterator<Item = Result<Answer, ModelError>> {
    (0..count).map(move |_| Err(error.clone()))
}

#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried() {
    for error in [
        ModelError::Unreachable,
        ModelError::Disconnected,
        ModelError::Unreadable,
        ModelError::Failed { status: 503 },
        ModelError::Timeout { after: PAUSE },
        ModelError::RateLimited { retry_after: None },
    ] {
        let script = Script::new(failing(2, error.clone()).chain([Ok(said("fine"))]));
        let (script, model) = reliable(script, &calls());
        assert_eq!(ask(&model).await.unwrap().text(), Ok("fine"), "{error}");
        assert_eq!(script.asked().len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn permanent_failures_are_not_retried() {
    for error in [
        ModelError::Unauthorized,
        ModelError::Refused,
        ModelError::BadRequest { status: 400 },
    ] {
        let (script, model) = reliable(Script::new(failing(9, error.clone())), &calls());
        assert_eq!(ask(&model).await, Err(error));
        assert_eq!(script.asked().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_bounded() {
    let (script, model) = reliable(Script::new(failing(9, ModelError::Unreachable)), &calls());
    assert_eq!(ask(&model).await, Err(ModelError::Unreachable));
    assert_eq!(script.asked().len(), calls().max_attempts);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_a_pause_gets_it() {
    let limited = |seconds| ModelError::RateLimited {
        retry_after: Some(Duration::from_secs(seconds)),
    };
    let script = Script::new([Err(limited(45)), Ok(said("fine"))]);
    let (_, model) = reliable(script, &calls());
    let start = Instant::now();
    assert!(ask(&model).await.is_ok());
    assert!(start.elapsed() >= Duration::from_secs(45));
    // A pause that outlasts the call is the caller's to make.
    let (script, model) = reliable(Script::new(failing(9, limited(3_600))), &calls());
    let start = Instant::now();
    assert_eq!(ask(&model).await, Err(limited(3_600)));
    assert_eq!((script.asked().len(), start.elapsed()), (1, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn all_attempts_together_are_bounded_in_time() {
    let mut script = Script::new(failing(9, ModelError::Unreachable));
    script.takes = Duration::from_secs(70);
    let (script, model) = reliable(script, &calls());
    let start = Instant::now();
    let after = calls().total_timeout;
    assert_eq!(ask(&model).await, Err(ModelError::Timeout { after }));
    assert!(start.elapsed() <= after);
    assert_eq!(script.asked().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_out_of_order_is_left_alone_for_a_while() {
    let script = Script::new(failing(5, ModelError::Unreachable).chain([Ok(said("fine"))]));
    let calls = CallsConfig {
        max_attempts: 1,
        ..calls()
    };
    let (script, model) = reliable(script, &calls);
    for _ in 0..5 {
        assert_eq!(ask(&model).await, Err(ModelError::Unreachable));
    }
    let open = ask(&model).await.unwrap_err();
    assert_eq!(open, ModelError::BreakerOpen { retry_after: PAUSE });
    assert_eq!(script.asked().len(), 5);
    tokio::time::advance(PAUSE).await;
    assert!(ask(&model).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_wrong_prompt_does_not_put_a_model_out_of_order() {
    let script = Script::new(failing(20, ModelError::BadRequest { status: 400 }));
    let (script, model) = reliable(script, &calls());
    for _ in 0..20 {
        let refused = Err(ModelError::BadRequest { status: 400 });
        assert_eq!(ask(&model).await, refused);
    }
    assert_eq!(script.asked().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn calls_at_the_same_time_are_bounded() {
    let mut script = Script::new((0..6).map(|_| Ok(said("fine"))));
    script.takes = Duration::from_secs(10);
    let calls = CallsConfig {
        max_concurrent: 2,
        ..calls()
    };
    let (_, model) = reliable(script, &calls);
    let start = Instant::now();
    let running: Vec<_> = (0..6)
        .map(|_| {
            let model = model.clone();
            tokio::spawn(async move { ask(&model).await })
        })
        .collect();
    for call in running {
        assert!(call.await.unwrap().is_ok());
    }
    assert_eq!(start.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_paid_for() {
    let after = PAUSE;
    let answer = Answer {
        usage: usage(40, 2),
        ..said("fine")
    };
    let script = Script::new([
        // The number of tokens used is unknown.
        Err(ModelError::Timeout { after }),
        Err(ModelError::Disconnected),
        Err(ModelError::Unreadable),
        // It did not begin.
        Err(ModelError::Unreachable),
        Err(ModelError::Failed { status: 503 }),
        Err(ModelError::RateLimited { retry_after: None }),
        Ok(answer.clone()),
    ]);
    let calls = CallsConfig {
        max_attempts: 7,
        breaker_failures: 9,
        ..calls()
    };
    let (_, model) = reliable(script, &calls);
    let (purse, tenant) = (Purse::with(100_000), tenant());
    let account = Account {
        ledger: &*purse,
        keys: &NoKeys,
        tenant: &tenant,
    };
    assert_eq!(model.ask(account, &prompt()).await, Ok(answer));
    let most = u64::try_from(prompt().tokens(model.info().tokenizer)).unwrap() + 300;
    let spent = purse.settled.lock().unwrap().clone();
    assert_eq!(spent, [most, most, most, 0, 0, 0, 42]);
    // A budget below two such failures suffices for one.
    let script = Script::new(failing(9, ModelError::Disconnected));
    let (script, model) = reliable(script, &calls);
    let purse = Purse::with(i64::try_from(most).unwrap() * 2 - 1);
    let account = Account {
        ledger: &*purse,
        keys: &NoKeys,
        tenant: &tenant,
    };
    let spent = model.ask(account, &prompt()).await;
    assert_eq!(spent, Err(ModelError::BudgetSpent));
    assert_eq!(script.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_broken_off_stays_reserved() {
    let mut script = Script::new([Ok(said("fine"))]);
    script.takes = PAUSE;
    let (_, model) = reliable(script, &calls());
    let (purse, tenant) = (Purse::with(1_000), tenant());
    let account = Account {
        ledger: &*purse,
        keys: &NoKeys,
        tenant: &tenant,
    };
    let prompt = prompt();
    let asked = tokio::time::timeout(PAUSE / 2, model.ask(account, &prompt));
    assert!(asked.await.is_err());
    assert!(purse.left() < 700 && purse.settled.lock().unwrap().is_empty());
}

#[test]
fn a_bound_of_nothing_is_refused_by_its_key() {
    let script = Arc::new(Script::new([]));
    let calls = CallsConfig {
        max_attempts: 0,
        ..calls()
    };
    let error = Reliable::new(script, "distill.calls", &calls)
        .err()
        .unwrap();
    assert_eq!(error.key, "distill.calls.max_attempts");
}
