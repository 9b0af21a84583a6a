//! What is sent.

use memory_store::{EventBatch, SubscriptionEvent};
use serde::Serialize;
use time::OffsetDateTime;

#[derive(Serialize)]
struct Body<'a> {
    subscription: &'a str,
    events: Vec<Event<'a>>,
    dropped_count: i64,
}

#[derive(Serialize)]
struct Event<'a> {
    event_id: String,
    action: &'a str,
    thread_id: String,
    app_id: &'a str,
    user_id: &'a str,
    subject: &'a str,
    item_count: i64,
    actor: &'a str,
    #[serde(with = "time::serde::rfc3339")]
    create_time: OffsetDateTime,
}

/// A batch as JSON.
///
/// # Errors
/// A time that RFC 3339 cannot write.
pub(crate) fn body(subscription: &str, batch: &EventBatch) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Body {
        subscription,
        events: batch.events.iter().map(event).collect(),
        dropped_count: batch.dropped,
    })
}

fn event(event: &SubscriptionEvent) -> Event<'_> {
    let SubscriptionEvent {
        id,
        actor,
        action,
        thread,
        app,
        user,
        subject,
        item_count,
        created,
    } = event;
    Event {
        event_id: id.to_string(),
        action,
        thread_id: thread.map(|id| id.to_string()).unwrap_or_default(),
        app_id: app.as_str(),
        user_id: user.as_str(),
        subject,
        item_count: *item_count,
        actor,
        create_time: *created,
    }
}

#[cfg(test)]
mod tests {
    use memory_contract::{AppId, ThreadId, UserId};
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_body_has_ids_and_no_content() {
        let batch = EventBatch {
            id: Uuid::nil(),
            failed_attempts: 2,
            dropped: 3,
            events: vec![SubscriptionEvent {
                id: 7,
                actor: "backend".to_owned(),
                action: "append_messages".to_owned(),
                thread: Some(ThreadId::from(Uuid::nil())),
                app: AppId::new("support"),
                user: UserId::new("ada"),
                subject: "1".to_owned(),
                item_count: 2,
                created: OffsetDateTime::UNIX_EPOCH,
            }],
        };
        let body: Value = serde_json::from_slice(&body("crm", &batch).unwrap()).unwrap();
        assert_eq!(
            body,
            json!({
                "subscription": "crm",
                "events": [{
                    "event_id": "7",
                    "action": "append_messages",
                    "thread_id": "00000000-0000-0000-0000-000000000000",
                    "app_id": "support",
                    "user_id": "ada",
                    "subject": "1",
                    "item_count": 2,
                    "actor": "backend",
                    "create_time": "1970-01-01T00:00:00Z",
                }],
                "dropped_count": 3,
            })
        );
    }
}
