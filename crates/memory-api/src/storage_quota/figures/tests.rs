use super::*;

const LIMITS: Limits = Limits {
    messages: Some(10),
    bytes: Some(1_000),
};
const TICK: Duration = Duration::from_millis(1);

fn messages(messages: i64) -> Amount {
    Amount {
        messages,
        bytes: 10 * messages,
    }
}

/// Figures after a sum that took a millisecond, and the time of its end.
fn summed(sum: Amount) -> (Figures, Instant) {
    let (mut figures, start) = (Figures::default(), Instant::now());
    assert!(figures.begin(start));
    figures.end(Some(sum), start, start + TICK);
    (figures, start + TICK)
}

fn refused(step: Step) -> Option<&'static str> {
    match step {
        Step::Refuse(exceeded) => Some(exceeded.setting),
        _ => None,
    }
}

fn admitted(step: &Step) -> bool {
    matches!(step, Step::Admit { .. })
}

#[test]
fn a_write_waits_for_the_first_sum_but_not_for_ever() {
    let (mut figures, now) = (Figures::default(), Instant::now());
    let step = figures.step(messages(1), &LIMITS, now, now);
    let until = now + WAIT;
    assert_eq!(step, Step::Wait { sum: true, until });
    assert!(figures.begin(now));
    let step = figures.step(messages(1), &LIMITS, now, now);
    assert_eq!(step, Step::Wait { sum: false, until });
    let step = figures.step(messages(1), &LIMITS, now, until);
    assert_eq!(step, Step::Admit { sum: false });
    assert_eq!(figures.under_way, messages(1));
}

#[test]
fn what_is_accepted_between_two_sums_counts() {
    let (mut figures, now) = summed(messages(7));
    for _ in 0..3 {
        let step = figures.step(messages(1), &LIMITS, now, now);
        assert_eq!(step, Step::Admit { sum: false });
    }
    figures.settle(messages(3), messages(2));
    assert!(admitted(&figures.step(messages(1), &LIMITS, now, now)));
    // A refusal needs a sum that is newer than the call.
    let Step::Wait { sum: false, until } = figures.step(messages(1), &LIMITS, now, now) else {
        panic!("{figures:?}");
    };
    assert_eq!(until, now + MIN_PAUSE);
    let next = Step::Wait {
        sum: true,
        until: now + WAIT,
    };
    assert_eq!(figures.step(messages(1), &LIMITS, now, until), next);
    assert!(figures.begin(until));
    figures.end(Some(messages(9)), until, until + TICK);
    let step = figures.step(messages(1), &LIMITS, now, until + TICK);
    // One write was under way during the sum, which has it or not.
    assert!(matches!(step, Step::Wait { .. }), "{step:?}");
    figures.settle(messages(1), messages(1));
    let again = until + TICK + MIN_PAUSE;
    assert!(figures.begin(again));
    figures.end(Some(messages(10)), again, again + TICK);
    let step = figures.step(messages(1), &LIMITS, now, again + TICK);
    assert_eq!(refused(step), Some("server.tenant_messages"));
}

#[test]
fn bytes_are_a_quota_of_their_own() {
    let (mut figures, now) = summed(Amount {
        messages: 1,
        bytes: 990,
    });
    let before = now - TICK;
    let wanted = |bytes| Amount { messages: 1, bytes };
    let step = figures.step(wanted(11), &LIMITS, before, now);
    assert_eq!(refused(step), Some("server.tenant_bytes"));
    assert!(admitted(&figures.step(wanted(10), &LIMITS, before, now)));
}

#[test]
fn a_sum_has_what_ended_before_it_and_not_what_came_later() {
    let (mut figures, now) = summed(messages(0));
    assert!(admitted(&figures.step(messages(2), &LIMITS, now, now)));
    figures.settle(messages(2), messages(2));
    let start = now + MIN_PAUSE;
    assert!(figures.begin(start));
    assert!(admitted(&figures.step(messages(3), &LIMITS, now, start)));
    figures.settle(messages(3), messages(3));
    // The sum saw the first write only.
    figures.end(Some(messages(2)), start, start + TICK);
    let (stored, age) = figures.stored(start + TICK);
    assert_eq!((stored, age), (messages(5), Some(TICK)));
    assert_eq!(figures.overlap, messages(3));
}

#[test]
fn sums_take_a_small_share_of_the_time() {
    let (mut figures, start) = (Figures::default(), Instant::now());
    let took = Duration::from_secs(3);
    assert!(figures.begin(start));
    assert!(!figures.begin(start + took));
    let end = start + took;
    figures.end(Some(messages(11)), start, end);
    assert!(!figures.begin(end + 19 * took));
    // The next sum is too far away to wait for.
    let step = figures.step(messages(1), &LIMITS, end, end);
    assert_eq!(refused(step), Some("server.tenant_messages"));
    assert!(figures.begin(end + 20 * took));
}

#[test]
fn an_old_sum_is_replaced_while_writes_go_on() {
    let (mut figures, now) = summed(messages(0));
    let step = figures.step(messages(1), &LIMITS, now, now + ROUTINE);
    assert_eq!(step, Step::Admit { sum: true });
}

#[test]
fn a_failed_sum_leaves_the_last_one_and_stops_no_write() {
    let (mut figures, start) = (Figures::default(), Instant::now());
    assert!(figures.begin(start));
    figures.end(None, start, start + TICK);
    let now = start + TICK;
    assert!(admitted(&figures.step(messages(1), &LIMITS, now, now)));
    assert!(!figures.begin(now + FAILURE_PAUSE - TICK));
    assert!(figures.begin(now + FAILURE_PAUSE));
}
