-- Keeps the sources of memories until the transaction ends: what erases a message, or hides or clears
-- its thread, locks the thread's row FOR UPDATE and waits for this lock; if it was first, this waits,
-- and missing_source does not find the message. p_items is a list of what put_memory takes.
--
-- lock_memories of the memories' user is not enough, because a source may be in a thread of another
-- user: an erasure would have to lock all users who said something there. Called before
-- lock_memories, because erasures lock the thread's row before it, too. Only erasures and callers of
-- this function wait for each other: changes of a thread lock its row FOR NO KEY UPDATE.
CREATE OR REPLACE FUNCTION recollect.lock_sources(p_tenant text, p_items jsonb)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_sources uuid[] := ARRAY(
        SELECT DISTINCT s.id::uuid
        FROM jsonb_array_elements(p_items) AS i (value)
        CROSS JOIN LATERAL jsonb_array_elements_text(i.value -> 'sources') AS s (id));
    v_threads uuid[];
BEGIN
    IF v_sources = '{}' THEN
        RETURN;
    END IF;
    v_threads := ARRAY(
        SELECT DISTINCT m.thread_id FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = ANY (v_sources) AND m.deleted_at IS NULL);
    PERFORM FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = ANY (v_threads)
        -- A thread that has ended may be locked for long, and has no sources.
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    ORDER BY t.thread_id
    FOR KEY SHARE;
END;
$$;
