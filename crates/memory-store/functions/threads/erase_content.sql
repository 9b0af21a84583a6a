-- Erases what belongs to a thread that is cleared, and queues that for the index. The caller
-- has the thread's lock. The thread's row, its remembered requests and memories with other
-- sources stay. Returns the revision; 0 where the thread never had a message.
CREATE OR REPLACE FUNCTION recollect.erase_thread_content(p_tenant text, p_thread uuid, p_last_seq bigint)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_revision bigint := 0;
BEGIN
    PERFORM recollect.erase_thread_rows(p_tenant, p_thread, NULL, NULL);
    IF p_last_seq > 0 THEN
        DELETE FROM recollect.outbox
        WHERE tenant_id = p_tenant AND thread_id = p_thread AND op = 'purge' AND lease_id IS NULL;
        INSERT INTO recollect.outbox (tenant_id, thread_id, seq, op)
        VALUES (p_tenant, p_thread, p_last_seq, 'purge')
        RETURNING id INTO v_revision;
    END IF;
    RETURN v_revision;
END;
$$;
