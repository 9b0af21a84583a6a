//! The annotations of fields with `google.api.field_behavior`. Comments, annotations and what
//! the server refuses agree: these tests compare the first two, and an end-to-end test calls
//! every method without each required field.

mod common;

use std::collections::BTreeSet;

use common::{POOL, fields, name};
use prost_reflect::{FieldDescriptor, MessageDescriptor};

/// The names of the values of `google.api.FieldBehavior` that a field has.
fn behaviors(field: &FieldDescriptor) -> Vec<String> {
    let option = POOL.get_extension_by_name("google.api.field_behavior");
    let option = option.expect("the contract imports it");
    let kind = option.kind();
    let values = kind.as_enum().expect("its type is an enum");
    let options = field.options();
    let numbers = options.get_extension(&option);
    let numbers = numbers.as_list().expect("it is repeated").iter();
    numbers
        .filter_map(|number| values.get_value(number.as_enum_number()?))
        .map(|value| value.name().to_owned())
        .collect()
}

fn is(field: &FieldDescriptor, behavior: &str) -> bool {
    behaviors(field).iter().any(|own| own == behavior)
}

/// The full names of the messages of requests, or else of responses, and of what they contain.
fn messages_of(requests: bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for service in POOL.services() {
        for method in service.methods() {
            match requests {
                true => add(method.input(), &mut found),
                false => add(method.output(), &mut found),
            }
        }
    }
    found
}

fn add(message: MessageDescriptor, found: &mut BTreeSet<String>) {
    if found.insert(message.full_name().to_owned()) {
        for field in message.fields() {
            if let Some(message) = field.kind().as_message() {
                add(message.clone(), found);
            }
        }
    }
}

#[test]
fn a_field_is_required_where_its_comment_says_so() {
    for (field, comment) in fields() {
        let name = name(&field);
        let says_so = comment.split(' ').any(|word| word == "Required.");
        assert_eq!(is(&field, "REQUIRED"), says_so, "{name}: {comment}");
        // What is required only sometimes is not annotated.
        for rest in comment.split("Required").skip(1) {
            let known = [". ", ", except ", " unless "];
            let known = rest == "." || known.iter().any(|known| rest.starts_with(known));
            assert!(known, "{name}: {comment}");
        }
    }
}

#[test]
fn only_requests_have_required_fields() {
    let requests = messages_of(true);
    for (field, _) in fields() {
        if !is(&field, "REQUIRED") && !is(&field, "INPUT_ONLY") {
            continue;
        }
        let name = name(&field);
        let message = field.parent_message();
        assert!(requests.contains(message.full_name()), "{name}");
        let mut alternatives = field.containing_oneof().into_iter();
        let alone = alternatives.all(|oneof| oneof.is_synthetic());
        assert!(alone, "{name} has alternatives");
    }
}

#[test]
fn only_messages_that_are_sent_and_returned_have_output_fields() {
    let (requests, responses) = (messages_of(true), messages_of(false));
    for (field, _) in fields() {
        if is(&field, "OUTPUT_ONLY") {
            let (name, message) = (name(&field), field.parent_message());
            let both = [&requests, &responses].map(|all| all.contains(message.full_name()));
            assert_eq!(both, [true, true], "{name}");
            assert!(!is(&field, "REQUIRED"), "{name}");
        }
    }
}
