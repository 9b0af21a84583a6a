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
    assert_eq!(second(horizon.see(at(0, 10, 10))), -60, "nothing is known");
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
fn a_transaction_delays_the_position_by_at_most_the_overlap() {
    let mut horizon = Horizon::new(OVERLAP);
    horizon.see(at(0, 10, 10));
    for now in (10..200).step_by(10) {
        assert_eq!(second(horizon.see(at(now, 5, 10 + now))), now - 60);
        assert!(horizon.marks.len() <= 8);
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
