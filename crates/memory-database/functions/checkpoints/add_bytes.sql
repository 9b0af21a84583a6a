-- Adds to the stored bytes of a thread, or with a negative number subtracts. The caller has the
-- thread's lock.
CREATE OR REPLACE FUNCTION recollect.add_checkpoint_bytes(p_tenant text, p_thread uuid, p_bytes bigint)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE recollect.threads
    SET stored_bytes = stored_bytes + GREATEST(p_bytes, -stored_bytes),
        content_bytes = CASE WHEN idle_ttl IS NULL THEN 0 ELSE GREATEST(content_bytes + p_bytes, 0) END
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
END;
$$;
