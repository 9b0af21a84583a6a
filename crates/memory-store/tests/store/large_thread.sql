-- Fills an empty thread with $3 messages of one branch, without the service: about 20,000 a
-- second. $1: the tenant, $2: the thread.
WITH thread AS (
    UPDATE recollect.threads t
    SET last_seq = $3, head_seq = $3, head_branch = 1, head_depth = $3::bigint::integer, path_tokens = $3 * 10,
        head_id = md5($2::uuid::text || $3::bigint)::uuid, branch_count = 1, message_count = $3
    WHERE t.tenant_id = $1 AND t.thread_id = $2 AND t.last_seq = 0
    RETURNING t.*
),
branch AS (
    INSERT INTO recollect.branches (tenant_id, thread_id, branch, fork_depth, created_at)
    SELECT t.tenant_id, t.thread_id, 1, 0, t.created_at FROM thread t
)
INSERT INTO recollect.messages
    (tenant_id, thread_id, app_id, user_id, seq, message_id, parent_id, branch, depth, role, name, parts, metadata,
     tokens, path_tokens, bytes, said_at, appended_at, imported, words)
SELECT t.tenant_id, t.thread_id, t.app_id, t.user_id, n.seq, md5(t.thread_id::text || n.seq)::uuid,
    CASE WHEN n.seq > 1 THEN md5(t.thread_id::text || n.seq - 1)::uuid END, 1, n.seq::integer,
    CASE n.seq % 2 WHEN 1 THEN 'user' ELSE 'assistant' END, '',
    json_build_array(json_build_object('text', 'Message ' || n.seq)), '{}', 10, n.seq * 10, 30,
    t.created_at, t.created_at, true, array_to_tsvector(ARRAY['word' || n.seq % 1000]) || t.scope
FROM thread t, generate_series(1, $3) AS n (seq)
