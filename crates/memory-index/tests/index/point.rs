//! Points of an index with dense vectors of four numbers.

use memory_contract::{AppId, TenantId, ThreadId, UserId, json::JsonObject, message::Role};
use memory_index::Point;
use memory_text::{Form, LexicalVector};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

/// The point of a message with an id and words made of a number.
pub fn point(number: u32, dense: [f32; 4]) -> Point {
    Point {
        message: uuid(u128::from(number)).into(),
        tenant: TenantId::new("acme"),
        app: AppId::new("support"),
        user: UserId::new("ada"),
        thread: thread(1),
        seq: i64::from(number),
        branch: 1,
        depth: i32::try_from(number).unwrap(),
        question: number.is_multiple_of(2),
        short: number.is_multiple_of(3),
        role: Role::User,
        name: "Ada".to_owned(),
        said_by: UserId::default(),
        said: OffsetDateTime::UNIX_EPOCH + Duration::days(i64::from(number)),
        form: form(),
        metadata: JsonObject::default(),
        dense: Some(dense.to_vec()),
        passages: Vec::new(),
        lexical: words(&[number, 1_000]),
    }
}

pub fn thread(number: u128) -> ThreadId {
    uuid(number << 64).into()
}

/// Two words, in the stored form.
pub fn form() -> Form {
    Form::decode("DAUabcdEF0/").unwrap()
}

pub fn words(indices: &[u32]) -> LexicalVector {
    let mut indices = indices.to_vec();
    indices.sort_unstable();
    indices.dedup();
    let values = vec![1.0; indices.len()];
    LexicalVector { indices, values }
}

pub fn uuid(number: u128) -> Uuid {
    Uuid::from_u128(number)
}
