use memory_contract::{memory::MemoryOwner, message::Role};
use serde_json::json;
use time::macros::datetime;

use super::*;

#[test]
fn a_payload_is_admitted_that_meets_every_condition() {
    let tenant = TenantId::new("acme");
    let scope = Scope::User {
        app: AppId::new("support"),
        user: UserId::new("ada"),
    };
    let filter = MessageFilter {
        roles: vec![Role::User, Role::Tool],
        users: vec![UserId::new("ada"), UserId::new("bob")],
        start: Some(datetime!(2023-05-08 00:00 UTC)),
        end: Some(datetime!(2023-05-09 00:00 UTC)),
        metadata: JsonObject::parse(r#"{"stage": 2.0, "open": true}"#.to_owned()).unwrap(),
        ..MessageFilter::default()
    };
    let selection = Selection::new(&tenant, &scope, &filter);
    let group = Group::User(&AppId::new("support"), &UserId::new("ada")).value(&tenant);
    let good = json!({
        "tenant": "acme", "group": ["another", group],
        "role": "tool", "said_by": "bob", "said": micros(datetime!(2023-05-08 00:00 UTC)),
        "meta": ["\"open\"=true", "\"stage\"=2e0", "\"color\"=\"red\""],
    });
    let admits = |field: &str, value: Value| {
        let mut payload = good.as_object().cloned().unwrap_or_default();
        payload.insert(field.to_owned(), value);
        selection.admits(&payload)
    };
    assert!(admits("tenant", json!("acme")));
    for (field, value) in [
        ("tenant", json!("rival")),
        ("group", json!(["another"])),
        ("role", json!("assistant")),
        ("said_by", json!("eve")),
        ("said_by", Value::Null),
        ("said", json!(micros(datetime!(2023-05-09 00:00 UTC)))),
        ("said", Value::Null),
        ("meta", json!(["\"open\"=true"])),
    ] {
        assert!(!admits(field, value), "{field}");
    }
}

#[test]
fn a_space_has_the_user_in_its_apps_alone() {
    let tenant = TenantId::new("acme");
    let (app, user) = (AppId::new("one"), UserId::new("ada"));
    let space = Space {
        name: "desk".to_owned(),
        apps: vec![app.clone(), AppId::new("two")],
    };
    let owner = MemoryOwner {
        app,
        user: user.clone(),
    };
    let owners = MemoryOwners::User(owner).within(Some(space.clone()));
    let of_memories = Selection::memories(&tenant, &owners, &MemoryFilter::default());
    let scope = Scope::Space { user, space };
    let of_messages = Selection::new(&tenant, &scope, &MessageFilter::default());
    for (selection, kind) in [(of_messages, "message"), (of_memories, "memory")] {
        let admits = |tenant: &str, app: &str, user: &str| {
            let payload = json!({
                "tenant": tenant, "kind": kind, "app": app, "user": user,
                "meta": ["holds=\"true\""],
            });
            selection.admits(payload.as_object().unwrap())
        };
        assert!(admits("acme", "one", "ada") && admits("acme", "two", "ada"));
        assert!(!admits("acme", "three", "ada"), "an app outside");
        assert!(!admits("acme", "two", "bob"), "another user");
        assert!(!admits("acme", "two", ""), "no user");
        assert!(!admits("rival", "two", "ada"), "another tenant");
    }
}

#[test]
fn equal_values_of_metadata_have_equal_tags_and_others_do_not() {
    let tags = |text: &str| -> Vec<String> {
        message_tags(&JsonObject::parse(text.to_owned()).unwrap()).collect()
    };
    for (one, other) in [
        (r#"{"a": 1}"#, r#"{"a": 1.0}"#),
        (r#"{"a": 1200}"#, r#"{"a": 12e2}"#),
        (r#"{"a": 0.05}"#, r#"{"a": 5E-2}"#),
        (r#"{"a": 0}"#, r#"{"a": -0.0}"#),
        (r#"{"a": "\u00e9"}"#, r#"{"a": "é"}"#),
    ] {
        assert_eq!(tags(one), tags(other));
    }
    for (one, other) in [
        (
            r#"{"a": 1234567890123456788}"#,
            r#"{"a": 1234567890123456789}"#,
        ),
        (r#"{"a": 1}"#, r#"{"a": "1"}"#),
        (r#"{"a": 1}"#, r#"{"a": 10}"#),
        (r#"{"a": 1}"#, r#"{"a": -1}"#),
        (r#"{"a=\"b\"": "c"}"#, r#"{"a": "b\"=\"c"}"#),
    ] {
        assert_ne!(tags(one), tags(other));
    }
    assert!(tags(r#"{"a": [1], "b": {"c": 1}}"#).is_empty());
    let long = tags(&format!(r#"{{"a": "{}"}}"#, "x".repeat(300)));
    assert!(long[0].starts_with('#'), "{long:?}");
}
