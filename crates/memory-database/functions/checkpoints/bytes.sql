-- The bytes that the checkpoints of a thread take.
CREATE OR REPLACE FUNCTION recollect.checkpoint_bytes(p_tenant text, p_thread uuid)
RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT COALESCE(sum(b.bytes), 0)::bigint
    FROM (
        SELECT sum(recollect.checkpoint_row_bytes(c)) FROM recollect.checkpoints c
        WHERE c.tenant_id = p_tenant AND c.thread_id = p_thread
        UNION ALL
        SELECT sum(recollect.checkpoint_row_bytes(v)) FROM recollect.checkpoint_values v
        WHERE v.tenant_id = p_tenant AND v.thread_id = p_thread
        UNION ALL
        SELECT sum(recollect.checkpoint_row_bytes(w)) FROM recollect.checkpoint_writes w
        WHERE w.tenant_id = p_tenant AND w.thread_id = p_thread
        UNION ALL
        SELECT sum(recollect.checkpoint_row_bytes(k)) FROM recollect.checkpoint_chunks k
        WHERE k.tenant_id = p_tenant AND k.thread_id = p_thread
    ) AS b (bytes)
$$;
