-- The last queued change of memories of a user that is not yet in the index; null: none.
-- A retry waits for what the first attempt has queued.
CREATE OR REPLACE FUNCTION recollect.queued_revision(p_tenant text, p_app text, p_user text, p_memories uuid[])
RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT max(o.id) FROM recollect.outbox o
        WHERE o.tenant_id = p_tenant AND o.thread_id = recollect.memory_queue(p_tenant, p_app, p_user)
            AND o.message_id = ANY (p_memories) AND o.kind = 'memory');
END;
$$;
