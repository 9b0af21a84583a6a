//! What lists read: a page by an index, never all rows of a tenant.

use crate::world::World;

const ROWS: &str = "
    INSERT INTO recollect.threads
        (tenant_id, thread_id, app_id, user_id, session_key, session_digest, title, metadata, scope, updated_at)
    SELECT 'a', gen_random_uuid(), 'app' || n % 3, 'user' || n % 20, n::text, sha256(n::text::bytea), '',
        jsonb_build_object('team', n % 100), '', now() - make_interval(mins => n)
    FROM generate_series(1, 3000) AS n;
    INSERT INTO recollect.messages
        (tenant_id, thread_id, app_id, user_id, seq, message_id, branch, depth, role, name, parts, metadata,
         tokens, path_tokens, bytes, said_at, appended_at, imported)
    SELECT t.tenant_id, t.thread_id, t.app_id, t.user_id, n, gen_random_uuid(), 1, n, 'user', '', '[]', '{}',
        1, n, 10, t.updated_at + make_interval(secs => n), now(), false
    FROM recollect.threads t
    CROSS JOIN generate_series(1, 10) AS n";

#[tokio::test]
async fn a_page_of_a_list_reads_little_more_than_itself_even_without_statistics() {
    let world = World::new().await;
    world.owner().await.batch_execute(ROWS).await.unwrap();
    let messages = |user: &str, descending: bool| {
        format!(
            "SELECT count(*) FROM recollect.list_messages('a', 'app1', {user}, {descending}, NULL, NULL,
                NULL, NULL, NULL, NULL, NULL, NULL, 51, 51, 1000000)"
        )
    };
    let threads = |owner: &str, order: &str| {
        format!(
            "SELECT count(*) FROM recollect.list_threads('a', {owner}, {order}, NULL, NULL, NULL, 51, 51)"
        )
    };
    let mut queries = Vec::new();
    for user in ["NULL", "'user1'"] {
        queries.extend([messages(user, false), messages(user, true)]);
    }
    for owner in ["NULL, NULL", "'app1', NULL", "'app1', 'user1'"] {
        for order in ["false, false", "false, true", "true, false", "true, true"] {
            queries.push(threads(owner, order));
        }
    }
    for query in queries {
        // The counts of a connection include earlier transactions until they are flushed.
        let service = world.role("recollect_service").await;
        let text = format!(
            "BEGIN; SELECT set_config('recollect.tenant', 'a', true); {query};
             SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_xact_user_tables
             WHERE relname IN ('messages', 'threads'); COMMIT"
        );
        let answers = service.simple_query(&text).await.unwrap();
        let numbers: Vec<i64> = answers
            .iter()
            .filter_map(|answer| match answer {
                tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
                _ => None,
            })
            .collect();
        let [listed, read] = numbers[..] else {
            panic!("{numbers:?}");
        };
        assert!(listed > 40, "{query}: {listed}");
        assert!(read < 300, "{query} reads {read} rows");
    }
}
