use crate::world::{World, rows_read_by};

/// Documents stored after the functions were planned for an empty table.
const DOCUMENTS: i32 = 1_000;

#[tokio::test]
async fn a_named_document_is_looked_up_alone_however_few_there_were_when_that_was_planned() {
    let world = World::new().await;
    let service = world.role("recollect_service").await;
    let get = r#"SELECT * FROM recollect.get_documents('acme', '\x01', ARRAY['["a"]', '["a"]'],
        ARRAY['7', '8'], true, 1000000)"#;
    let delete = r#"SELECT recollect.delete_documents('acme', 'test', 'app', '\x01', ARRAY['["a"]'],
        ARRAY['9'], NULL)"#;
    for call in [get, delete] {
        // Postgres keeps a plan after five executions.
        for _ in 0..8 {
            service.batch_execute(call).await.unwrap();
        }
    }
    let put = format!(
        r#"SELECT recollect.put_documents('acme', 'test', 'app', '', '\x01', array_agg(CAST('["a"]' AS text)),
            array_agg(n::text), array_agg('{{"number": ' || n || '}}'), array_agg(NULL::text),
            array_agg(NULL::text), array_agg(3600::double precision), 1000000, true, NULL)
        FROM generate_series(1, {DOCUMENTS}) AS n"#
    );
    service.batch_execute(&put).await.unwrap();
    for call in [get, delete] {
        let read = rows_read_by(&service, "documents", call).await;
        assert!((1..50).contains(&read), "{read} rows by {call}");
    }
}
