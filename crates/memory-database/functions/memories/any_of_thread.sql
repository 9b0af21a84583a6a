-- Whether a hidden thread is a source of memories, or rows are left that memories are made from.
-- It waits for calls of the thread's user that were writing when the thread was hidden, and then
-- releases their lock: erasing the thread's other rows may take long, and the user's other calls must
-- not wait for it. Calls that make memories of its messages ended before it was hidden: see
-- lock_sources.
CREATE OR REPLACE FUNCTION recollect.any_memory_of_thread(p_tenant text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_any boolean;
BEGIN
    BEGIN
        PERFORM recollect.lock_memories(p_tenant, t.app_id, t.user_id)
        FROM recollect.threads t
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
        v_any := EXISTS (
                SELECT FROM recollect.memory_sources s
                WHERE s.tenant_id = p_tenant AND s.thread_id = p_thread)
            OR EXISTS (
                SELECT FROM recollect.extract_again e
                WHERE e.tenant_id = p_tenant AND e.thread_id = p_thread)
            OR EXISTS (
                SELECT FROM recollect.memories m
                WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
                    AND m.origin = 'extracted' AND NOT m.pinned);
        -- Going back releases the lock.
        RAISE SQLSTATE 'RC001';
    EXCEPTION WHEN SQLSTATE 'RC001' THEN
        NULL;
    END;
    RETURN v_any;
END;
$$;
