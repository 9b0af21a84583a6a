-- Erases values of a thread that no checkpoint has, and chunks that no value or write has. The
-- caller has the thread's lock.
CREATE OR REPLACE FUNCTION recollect.collect_checkpoint_values(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM recollect.checkpoint_values v
    WHERE v.tenant_id = p_tenant AND v.thread_id = p_thread
        AND NOT EXISTS (
            SELECT FROM recollect.checkpoints c CROSS JOIN unnest(c.value_digests) AS d (digest)
            WHERE c.tenant_id = p_tenant AND c.thread_id = p_thread AND d.digest = v.digest);
    DELETE FROM recollect.checkpoint_chunks k
    WHERE k.tenant_id = p_tenant AND k.thread_id = p_thread
        AND NOT EXISTS (
            SELECT FROM recollect.checkpoint_values v CROSS JOIN unnest(v.chunks) AS d (hash)
            WHERE v.tenant_id = p_tenant AND v.thread_id = p_thread AND d.hash = k.hash)
        AND NOT EXISTS (
            SELECT FROM recollect.checkpoint_writes w CROSS JOIN unnest(w.chunks) AS d (hash)
            WHERE w.tenant_id = p_tenant AND w.thread_id = p_thread AND d.hash = k.hash);
END;
$$;
