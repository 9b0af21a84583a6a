use super::*;

/// Messages of one letter each; the letter is what is said.
fn set(said: &str) -> WorkingSet {
    WorkingSet {
        messages: said
            .chars()
            .zip(1..)
            .map(|(letter, depth)| Standing {
                id: id(depth),
                depth,
                role: Role::User,
                name: String::new(),
                digest: vec![letter as u8],
                said: OffsetDateTime::UNIX_EPOCH,
            })
            .collect(),
        whole: true,
        covered: 0,
    }
}

fn id(depth: i32) -> MessageId {
    uuid::Uuid::from_u128(depth.unsigned_abs().into()).into()
}

fn said(letter: char) -> Asked<'static> {
    Asked {
        id: None,
        role: Role::User,
        name: "",
        digest: vec![letter as u8],
        said: None,
    }
}

/// A digit names the message at that depth, a letter says something.
fn asked(text: &str) -> Vec<Asked<'static>> {
    let one = |c: char| match c.to_digit(10) {
        Some(depth) => Asked {
            id: Some(id(depth.cast_signed())),
            ..said('?')
        },
        None => said(c),
    };
    text.chars().map(one).collect()
}

fn run(set: &WorkingSet, text: &str) -> Result<Alignment, Misfit> {
    let known = (1..=9)
        .filter(|depth| *depth <= set.covered || set.messages.iter().any(|m| m.depth == *depth))
        .map(|depth| {
            let on_path = true;
            (id(depth), Known { depth, on_path })
        });
    align(&asked(text), set, &known.collect())
}

fn check(said: &str, text: &str, keep_from: Option<i32>, new: &[usize]) {
    let expected = Alignment {
        covered: Vec::new(),
        keep_from,
        new: new.to_vec(),
    };
    assert_eq!(run(&set(said), text), Ok(expected), "{said} {text}");
}

fn refuse(said: &str, text: &str, index: usize, problem: &'static str) {
    let expected = Err(Misfit { index, problem });
    assert_eq!(run(&set(said), text), expected, "{said} {text}");
}

#[test]
fn stored_messages_stay_and_new_ones_follow() {
    check("", "", None, &[]);
    check("", "ab", None, &[0, 1]);
    check("abc", "abc", Some(1), &[]);
    check("abc", "abcd", Some(1), &[3]);
    check("abc", "123d", Some(1), &[3]);
    check("abc", "a2cd", Some(1), &[3]);
    check("abc", "bcd", Some(2), &[2]);
    check("abc", "3", Some(3), &[]);
    check("abc", "", None, &[]);
    check("abc", "xy", None, &[0, 1]);
}

#[test]
fn of_equal_messages_as_many_stay_as_can() {
    check("aaa", "aaa", Some(1), &[]);
    check("aaa", "aaaa", Some(1), &[3]);
    check("aaa", "a", Some(3), &[]);
    check("abab", "abab", Some(1), &[]);
    check("abab", "aba", Some(3), &[2]);
}

#[test]
fn messages_that_a_summary_covers_are_skipped() {
    let mut set = set("abcd");
    set.messages.drain(..2);
    set.covered = 2;
    let expected = Alignment {
        covered: vec![0, 1],
        keep_from: Some(3),
        new: vec![4],
    };
    assert_eq!(run(&set, "1234e"), Ok(expected));
    let (index, problem) = (1, ORDER);
    assert_eq!(run(&set, "324"), Err(Misfit { index, problem }));
}

#[test]
fn a_message_of_another_branch_is_refused() {
    let known = HashMap::from([(
        id(7),
        Known {
            depth: 7,
            on_path: false,
        },
    )]);
    let (index, problem) = (1, OTHER_PATH);
    let found = align(&asked("a7"), &set("a"), &known);
    assert_eq!(found, Err(Misfit { index, problem }));
}

#[test]
fn a_time_that_is_given_has_to_be_that_of_the_message() {
    let mut later = said('a');
    later.said = Some(OffsetDateTime::UNIX_EPOCH + time::Duration::SECOND);
    let aligned = align(&[later.clone()], &set("a"), &HashMap::new()).unwrap();
    assert_eq!((aligned.keep_from, aligned.new), (None, vec![0]));
    later.said = Some(OffsetDateTime::UNIX_EPOCH);
    let aligned = align(&[later], &set("a"), &HashMap::new()).unwrap();
    assert_eq!((aligned.keep_from, aligned.new), (Some(1), vec![]));
}

#[test]
fn a_gap_or_another_order_is_refused_and_named() {
    // The newest ones are missing.
    refuse("abc", "12", 1, MISSING);
    refuse("abc", "ab", 1, MISSING);
    refuse("abc", "12x", 1, MISSING);
    // One in the middle is.
    refuse("abc", "13", 1, GAP);
    refuse("abc", "21", 1, ORDER);
    refuse("abc", "x3", 0, NEW_BEFORE);
    refuse("abc", "x123", 0, NEW_BEFORE);
    refuse("abc", "123d1", 4, ORDER);
}
