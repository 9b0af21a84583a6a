//! Searches by meaning for a small part of an index that is so large that it has graphs.

use memory_contract::{AppId, TenantId, UserId, message::MessageFilter};
use memory_embed::EmbeddingModel;
use memory_index::{IndexConfig, IndexSchema, Point, Search, Selection, open_index};
use memory_store::{Scope, Space};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use crate::conformance::{learn, noise, numbers};
use crate::point::point;

/// So large that 320 vectors get a graph.
const DIMENSIONS: usize = 8_192;
/// The points of the app: so few that they are optimized together.
const POINTS: u32 = 4_800;
/// Every twelfth point is Ada's, or was said on the last day.
const PART: u32 = 12;
const LAST_DAY: i64 = 20;

/// Points lie in groups of twelve about one subject, in each of which is one of the part.
fn vector(number: u32) -> Vec<f32> {
    let subject = noise(POINTS * 2 + number.div_ceil(PART), DIMENSIONS).into_iter();
    let own = subject.zip(noise(number, DIMENSIONS));
    own.map(|(subject, own)| subject + 0.2 * own).collect()
}

fn of(number: u32) -> Point {
    let (user, day) = match number % PART {
        0 => ("ada".to_owned(), LAST_DAY),
        day => (format!("user {}", number % 100), i64::from(day)),
    };
    Point {
        thread: Uuid::from_u128(u128::from(number) << 64).into(),
        user: UserId::new(user),
        said: OffsetDateTime::UNIX_EPOCH + Duration::days(day),
        dense: Some(vector(number)),
        ..point(number, [0.0; 4])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_part_of_a_large_app_is_found_by_meaning() {
    let directory = tempfile::tempdir().unwrap();
    let model = EmbeddingModel {
        name: "large-model".to_owned(),
        dimensions: DIMENSIONS,
    };
    let schema = IndexSchema::new("recollect", Some(&model));
    let config = IndexConfig {
        path: Some(directory.path().to_owned()),
        ..IndexConfig::default()
    };
    let index = open_index(&config, schema.clone()).unwrap();
    index.prepare().await.unwrap();
    for first in (1..=POINTS).step_by(200) {
        let points = learn((first..first + 200).map(of));
        index.apply(points).await.unwrap();
    }
    index.stop().await;
    drop(index);
    // It is optimized after the first change, because it was loaded, and before it is marked.
    let index = open_index(&config, schema).unwrap();
    index.prepare().await.unwrap();
    index.apply(learn([of(1)])).await.unwrap();
    index.mark_rebuilding(false).await.unwrap();

    let tenant = TenantId::new("acme");
    let (app, user) = (AppId::new("support"), UserId::new("ada"));
    let last_day = MessageFilter {
        start: Some(OffsetDateTime::UNIX_EPOCH + Duration::days(LAST_DAY)),
        ..MessageFilter::default()
    };
    let everything = MessageFilter::default();
    let of_app = Scope::App(app.clone());
    let of_user = Scope::User {
        app: app.clone(),
        user: user.clone(),
    };
    let in_space = Scope::Space {
        user,
        space: Space {
            name: "desk".to_owned(),
            apps: vec![app, AppId::new("sales")],
        },
    };
    for (scope, filter) in [
        (&of_app, &everything),
        (&of_user, &everything),
        (&in_space, &everything),
        (&of_app, &last_day),
        (&of_user, &last_day),
    ] {
        let selection = Selection::new(&tenant, scope, filter);
        for number in [PART, 200 * PART, POINTS] {
            // Near a point, but not equal to it.
            let other = noise(number + POINTS, DIMENSIONS);
            let own = vector(number).into_iter().zip(other);
            let search = Search {
                selection: selection.clone(),
                dense: Some(own.map(|(own, other)| own + 0.1 * other).collect()),
                lexical: None,
                limit: 200,
            };
            let found = numbers(&index.search(search).await.unwrap().dense);
            assert_eq!(found.len(), 200, "in {scope:?} with {filter:?}");
            assert_eq!(found[0], u128::from(number), "in {scope:?} with {filter:?}");
        }
    }
}
