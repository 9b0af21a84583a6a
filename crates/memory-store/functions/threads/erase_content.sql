-- Erases what belongs to a thread, and queues that for the index; for functions that
-- clear or delete the thread, under its lock. The thread's row, its remembered requests
-- and memories with other sources stay. Returns the revision; 0 where the thread never
-- had a message.
CREATE OR REPLACE FUNCTION recollect.erase_thread_content(p_tenant text, p_thread uuid, p_last_seq bigint)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_revision bigint := 0;
BEGIN
    -- In one call, which locks contents in order.
    PERFORM recollect.release_contents(p_tenant, ARRAY(
        SELECT m.message_id::text
        FROM recollect.messages m
        JOIN recollect.content_holders h ON h.tenant_id = p_tenant AND h.holder = m.message_id::text
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
        UNION ALL
        SELECT p_thread || '/' || n.node_id
        FROM recollect.node_memories n
        WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread));
    DELETE FROM recollect.messages WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.branches WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.plans WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.iterations WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.agent_events WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.distillates WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.distill_jobs WHERE tenant_id = p_tenant AND thread_id = p_thread;
    PERFORM recollect.erase_nodes(p_tenant, p_thread);
    PERFORM recollect.erase_working_memory(p_tenant, p_thread);
    PERFORM recollect.erase_memories_by_source(p_tenant, p_thread, NULL);
    -- Not what a worker has claimed: if it dies, its replay finds the message gone.
    DELETE FROM recollect.outbox
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND lease_id IS NULL;
    IF p_last_seq > 0 THEN
        INSERT INTO recollect.outbox (tenant_id, thread_id, seq, op)
        VALUES (p_tenant, p_thread, p_last_seq, 'purge')
        RETURNING id INTO v_revision;
    END IF;
    RETURN v_revision;
END;
$$;
