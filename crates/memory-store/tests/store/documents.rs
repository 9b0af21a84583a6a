use tokio_postgres::Client;

use crate::world::World;

/// Documents stored after the functions were planned for an empty table.
const DOCUMENTS: i32 = 1_000;

/// Rows of the table that this transaction has read, with or without an index.
async fn rows_read(client: &Client) -> i64 {
    let read = "SELECT pg_stat_get_xact_tuples_returned(d) + pg_stat_get_xact_tuples_fetched(d) \
             + (SELECT sum(pg_stat_get_xact_tuples_fetched(i.indexrelid)) FROM pg_index i WHERE i.indrelid = d)::bigint \
         FROM CAST('recollect.documents'::regclass AS oid) AS d";
    client.query_one(read, &[]).await.unwrap().get(0)
}

/// Rows that a call reads.
async fn read_by(client: &Client, call: &str) -> i64 {
    client.batch_execute("BEGIN").await.unwrap();
    let before = rows_read(client).await;
    client.batch_execute(call).await.unwrap();
    let after = rows_read(client).await;
    client.batch_execute("COMMIT").await.unwrap();
    after - before
}

#[tokio::test]
async fn a_named_document_is_looked_up_alone_however_few_there_were_when_that_was_planned() {
    let world = World::new().await;
    let service = world.role("recollect_service").await;
    let get = r#"SELECT * FROM recollect.get_documents('acme', '\x01', ARRAY['["a"]', '["a"]'],
        ARRAY['7', '8'], true, 1000000)"#;
    let delete = r#"SELECT recollect.delete_documents('acme', 'test', 'app', '\x01', ARRAY['["a"]'],
        ARRAY['9'])"#;
    for call in [get, delete] {
        // Postgres keeps a plan after five executions.
        for _ in 0..8 {
            service.batch_execute(call).await.unwrap();
        }
    }
    let put = format!(
        r#"SELECT recollect.put_documents('acme', 'test', 'app', '', '\x01', array_agg(CAST('["a"]' AS text)),
            array_agg(n::text), array_agg('{{"number": ' || n || '}}'), array_agg(NULL::text),
            array_agg(NULL::text), array_agg(3600::double precision), 1000000)
        FROM generate_series(1, {DOCUMENTS}) AS n"#
    );
    service.batch_execute(&put).await.unwrap();
    for call in [get, delete] {
        let read = read_by(&service, call).await;
        assert!((1..50).contains(&read), "{read} rows by {call}");
    }
}
