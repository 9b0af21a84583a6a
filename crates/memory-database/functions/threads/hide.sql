-- Ends a thread: it cannot be read any more, its session key is free for a new thread, and
-- its erasure is queued, also in the index. The caller has the thread's lock. Its expiry is
-- '-infinity', so that a clock that is set back does not show it again.
CREATE OR REPLACE FUNCTION recollect.hide_thread(
    p_tenant text, p_thread uuid,
    -- The erasure that the thread is a part of; null: none.
    p_parent uuid,
    OUT message_count bigint, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_last_seq bigint;
BEGIN
    UPDATE recollect.threads t
    SET expires_at = '-infinity',
        session_digest = sha256(convert_to('erased ' || p_thread, 'UTF8'))
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    RETURNING t.message_count, t.last_seq INTO message_count, v_last_seq;
    INSERT INTO recollect.erasures AS e (tenant_id, erasure_id, kind, parent_id, step)
    VALUES (p_tenant, p_thread, 'thread', p_parent, 'rows')
    ON CONFLICT (tenant_id, erasure_id) DO UPDATE
    SET step = 'rows', parent_id = COALESCE(excluded.parent_id, e.parent_id);
    revision := 0;
    IF v_last_seq > 0 THEN
        INSERT INTO recollect.outbox (tenant_id, thread_id, seq, op)
        VALUES (p_tenant, p_thread, v_last_seq, 'purge')
        RETURNING id INTO revision;
    END IF;
    PERFORM recollect.audit(p_tenant, 'delete_thread', p_thread, '', message_count);
END;
$$;
