use super::*;

const OVERLAP: Duration = Duration::from_secs(60);

/// A moment at a second, with the numbers of the oldest open transaction and of the
/// moment's own.
fn at(second: i64, oldest: i64, own: i64) -> Moment {
    Moment {
        now: (1_000_000 + second) * SECOND,
        oldest,
        own,
    }
}

fn second(settled: i64) -> i64 {
    settled / SECOND - 1_000_000
}

#[test]
fn a_moment_is_settled_when_its_transactions_have_ended() {
    let mut horizon = Horizon::new(OVERLAP);
    assert_eq!(horizon.see(at(0, 10, 10)), 0, "nothing is known");
    assert!(horizon.is_late());
    assert_eq!(second(horizon.see(at(10, 11, 11))), -1);
    assert_eq!(second(horizon.see(at(20, 12, 12))), 9);
    assert_eq!(second(horizon.settled()), 9);
}

#[test]
fn an_open_transaction_holds_the_place_until_it_ends() {
    let mut horizon = Horizon::new(OVERLAP);
    horizon.see(at(0, 10, 10));
    // Number 11 writes at second 5, and stays.
    assert_eq!(second(horizon.see(at(10, 11, 12))), -1);
    assert_eq!(second(horizon.see(at(20, 11, 20))), -1);
    assert_eq!(second(horizon.see(at(30, 11, 30))), -1);
    // It has ended.
    assert_eq!(second(horizon.see(at(40, 40, 40))), 29);
}

#[test]
fn a_transaction_that_notes_a_change_holds_the_place_for_as_long_as_it_lives() {
    let mut horizon = Horizon::new(OVERLAP);
    horizon.see(at(0, 10, 10));
    for now in 1..10_000 {
        let moment = at(now, 5, 10 + now);
        assert!(horizon.is_held(moment));
        assert_eq!(horizon.see(moment), 0);
        assert!(horizon.is_late());
        assert!(horizon.marks.len() <= MAX_MARKS);
    }
    // It has ended; what began last may still go on.
    assert_eq!(second(horizon.see(at(10_000, 10_009, 10_010))), 9_998);
}

#[test]
fn other_long_transactions_hold_the_place_for_the_overlap_alone() {
    let mut horizon = Horizon::new(OVERLAP);
    horizon.see(at(0, 10, 10));
    for now in 1..200 {
        let mut moment = at(now, 5, 10 + now);
        if horizon.is_held(moment) {
            moment.oldest = moment.own;
        }
        let settled = second(horizon.see(moment));
        assert!(settled >= now - 61, "{settled} at {now}");
    }
}

#[test]
fn moments_that_come_late_move_nothing_back() {
    let mut horizon = Horizon::new(OVERLAP);
    horizon.see(at(0, 10, 10));
    assert_eq!(second(horizon.see(at(10, 20, 20))), -1);
    assert_eq!(second(horizon.see(at(9, 10, 15))), -1);
    assert_eq!(second(horizon.see(at(20, 21, 21))), 9);
}
