//! Calls of models share the budget of a day.

use std::collections::BTreeMap;
use std::time::Duration;

use memory_store::ModelTokens;
use time::Date;
use uuid::Uuid;

use super::{STEPS, Stage, play};

const BUDGET: u64 = 1_000;

struct Reservation {
    id: Uuid,
    tokens: u64,
    day: Date,
    expires: u64,
    /// Settled, or found to have expired.
    ended: bool,
}

#[derive(Default)]
struct Model {
    reservations: Vec<Reservation>,
    spent: BTreeMap<Date, u64>,
}

#[tokio::test]
async fn of_simulated_calls_none_spends_tokens_that_another_has_reserved() {
    play(async |stage| {
        let mut model = Model::default();
        for _ in 0..STEPS {
            match stage.rng.u32(..10) {
                0..5 => reserve(stage, &mut model).await,
                5..8 => settle(stage, &mut model).await,
                _ => stage.pass_one_of([1, 59, 61, 3_600, 40_000]).await,
            }
            compare(stage, &model).await;
        }
    })
    .await;
}

fn today(stage: &Stage) -> Date {
    let now = stage.start + Duration::from_secs(stage.now);
    now.to_offset(time::UtcOffset::UTC).date()
}

async fn reserve(stage: &mut Stage, model: &mut Model) {
    let (day, now) = (today(stage), stage.now);
    // What was not settled in time is spent, on the day on which it was reserved.
    for lost in &mut model.reservations {
        if !lost.ended && lost.expires <= now {
            lost.ended = true;
            *model.spent.entry(lost.day).or_default() += lost.tokens;
        }
    }
    let reserved = model.reservations.iter().filter(|one| !one.ended);
    let reserved: u64 = reserved.map(|one| one.tokens).sum();
    let left = BUDGET.saturating_sub(model.spent.get(&day).unwrap_or(&0) + reserved);
    let tokens = match stage.rng.u32(..3) {
        // Exactly what is left, and one more.
        0 => left,
        1 => left + 1,
        _ => stage.rng.u64(1..400),
    };
    let input = stage.rng.u64(..=tokens);
    let most = ModelTokens {
        input,
        output: tokens - input,
    };
    let id = Uuid::now_v7();
    let usage = stage.world.store.usage(&stage.world.caller);
    let keep = Duration::from_secs(60);
    let granted = usage
        .reserve_tokens(id, "m", most, BUDGET, keep)
        .await
        .unwrap();
    stage.note(format_args!("reserved {tokens} of {left}: {granted}"));
    assert_eq!(granted, tokens <= left);
    if granted {
        model.reservations.push(Reservation {
            id,
            tokens,
            day,
            expires: now + 60,
            ended: false,
        });
    }
}

/// A call ends, however late, and perhaps for the second time.
async fn settle(stage: &mut Stage, model: &mut Model) {
    let Some(place) = stage.choose(model.reservations.len()) else {
        return;
    };
    let day = today(stage);
    let reservation = &mut model.reservations[place];
    let tokens = stage.rng.u64(..=reservation.tokens);
    let spent = ModelTokens {
        input: 0,
        output: tokens,
    };
    let usage = stage.world.store.usage(&stage.world.caller);
    usage
        .settle_tokens(reservation.id, spent, false)
        .await
        .unwrap();
    if !reservation.ended {
        reservation.ended = true;
        *model.spent.entry(day).or_default() += tokens;
    }
    stage.note(format_args!("settled {tokens}"));
}

async fn compare(stage: &Stage, model: &Model) {
    let usage = stage.world.store.usage(&stage.world.caller);
    let found = usage.model_usage(30).await.unwrap();
    let spent = found.iter().map(|one| {
        let format = time::macros::format_description!("[year]-[month]-[day]");
        let day = Date::parse(&one.day, format).unwrap();
        (day, (one.input_tokens + one.output_tokens).unsigned_abs())
    });
    let found: BTreeMap<Date, u64> = spent.filter(|(_, tokens)| *tokens > 0).collect();
    let mut expected = model.spent.clone();
    // The next reservation records those that have expired.
    for one in &model.reservations {
        if !one.ended && one.expires <= stage.now {
            *expected.entry(one.day).or_default() += one.tokens;
        }
    }
    expected.retain(|_, tokens| *tokens > 0);
    assert_eq!(found, expected);
}
