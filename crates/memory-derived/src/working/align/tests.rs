use super::*;

/// Messages of one letter each; the letter is what is said.
fn set(said: &str) -> WorkingSet {
    WorkingSet {
        messages: said
            .chars()
            .zip(1..)
            .map(|(letter, depth)| StoredMessage {
                id: id(depth),
                depth,
                role: Role::User,
                name: String::new(),
                said_by: String::new(),
                digest: vec![letter as u8],
                said: OffsetDateTime::UNIX_EPOCH,
            })
            .collect(),
        covered: 0,
    }
}

fn id(depth: i32) -> MessageId {
    uuid::Uuid::from_u128(depth.unsigned_abs().into()).into()
}

fn said(letter: char) -> PutMessage<'static> {
    PutMessage {
        id: None,
        role: Role::User,
        name: "",
        said_by: "",
        digest: vec![letter as u8],
        said: None,
    }
}

/// A digit names the message at that depth, which is `a` at depth 1 and so on; a capital
/// letter names it and says something else; a small letter says something.
fn put(text: &str) -> Vec<PutMessage<'static>> {
    let named = |depth: u32, said: PutMessage<'static>| PutMessage {
        id: Some(id(depth.cast_signed())),
        ..said
    };
    let letter = |depth: u32| ('a'..='z').nth(depth as usize - 1).unwrap();
    let one = |c: char| match c.to_digit(36) {
        Some(depth @ 1..=9) => named(depth, said(letter(depth))),
        Some(letter) if c.is_ascii_uppercase() => named(letter - 9, said(c)),
        _ => said(c),
    };
    text.chars().map(one).collect()
}

fn run(set: &WorkingSet, text: &str) -> Alignment {
    let known = (1..=9)
        .filter(|depth| *depth <= set.covered || set.messages.iter().any(|m| m.depth == *depth))
        .map(|depth| {
            let on_path = true;
            (id(depth), NamedMessage { depth, on_path })
        });
    align(&put(text), set, &known.collect())
}

fn check(said: &str, text: &str, keep_from: Option<i32>, new: &[usize]) {
    let expected = Alignment {
        covered: Vec::new(),
        keep_from,
        branch_at: None,
        new: new.to_vec(),
    };
    assert_eq!(run(&set(said), text), expected, "{said} {text}");
}

fn branch(said: &str, text: &str, keep_from: i32, branch_at: i32, new: &[usize]) {
    let expected = Alignment {
        covered: Vec::new(),
        keep_from: Some(keep_from),
        branch_at: Some(branch_at),
        new: new.to_vec(),
    };
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
        branch_at: None,
        new: vec![4],
    };
    assert_eq!(run(&set, "1234e"), expected);
    // A change starts a branch below them.
    let changed = Alignment {
        keep_from: Some(3),
        branch_at: Some(3),
        new: vec![2, 3],
        ..expected.clone()
    };
    assert_eq!(run(&set, "12C4"), changed);
    let inserted = Alignment {
        covered: Vec::new(),
        new: vec![0, 1, 2],
        ..changed
    };
    assert_eq!(run(&set, "x34"), inserted);
}

#[test]
fn a_message_of_another_branch_names_what_replaced_it() {
    let other = NamedMessage {
        depth: 7,
        on_path: false,
    };
    let known = HashMap::from([
        (id(7), other),
        (
            id(1),
            NamedMessage {
                depth: 1,
                on_path: true,
            },
        ),
    ]);
    // The message at depth 2 says `g` too.
    let aligned = align(&put("17"), &set("ag"), &known);
    assert_eq!((aligned.keep_from, aligned.branch_at), (Some(1), None));
    assert_eq!(aligned.new, [0_usize; 0]);
    let aligned = align(&put("17"), &set("ab"), &known);
    assert_eq!((aligned.keep_from, aligned.branch_at), (Some(1), Some(2)));
    assert_eq!(aligned.new, [1]);
}

#[test]
fn a_covered_message_may_be_put_after_others() {
    let mut set = set("aba");
    set.messages.drain(..1);
    set.covered = 1;
    let again = Alignment {
        covered: Vec::new(),
        keep_from: Some(2),
        branch_at: None,
        new: Vec::new(),
    };
    assert_eq!(run(&set, "21"), again);
}

#[test]
fn a_time_that_is_given_has_to_be_that_of_the_message() {
    let mut later = said('a');
    later.said = Some(OffsetDateTime::UNIX_EPOCH + time::Duration::SECOND);
    let aligned = align(&[later.clone()], &set("a"), &HashMap::new());
    assert_eq!((aligned.keep_from, aligned.new), (None, vec![0]));
    later.said = Some(OffsetDateTime::UNIX_EPOCH);
    let aligned = align(&[later], &set("a"), &HashMap::new());
    assert_eq!((aligned.keep_from, aligned.new), (Some(1), vec![]));
}

#[test]
fn a_changed_message_starts_a_branch() {
    // The newest ones are left out.
    branch("abc", "12", 1, 3, &[]);
    branch("abc", "ab", 1, 3, &[]);
    branch("abc", "2", 2, 3, &[]);
    branch("abc", "12x", 1, 3, &[2]);
    // One in the middle is left out, or has another content or place.
    branch("abc", "13", 1, 2, &[1]);
    branch("abcd", "1C4", 1, 2, &[1, 2]);
    branch("abc", "1B3", 1, 2, &[1, 2]);
    branch("abc", "1xb3", 1, 2, &[1, 2, 3]);
    branch("abc", "21", 2, 3, &[1]);
    // The first one has another content, or another one is before it.
    branch("abc", "A23", 1, 1, &[0, 1, 2]);
    branch("abc", "x23", 1, 1, &[0, 1, 2]);
    branch("abc", "x123", 1, 1, &[0, 1, 2, 3]);
    branch("abc", "xyz3", 1, 1, &[0, 1, 2, 3]);
    branch("abc", "B3", 2, 2, &[0, 1]);
    branch("abc", "x3", 2, 2, &[0, 1]);
    branch("abc", "123d1", 1, 4, &[3, 4]);
}
