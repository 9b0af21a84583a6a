-- Queues a change of a memory for the index. Returns its revision.
CREATE OR REPLACE FUNCTION recollect.enqueue_memory(
    p_tenant text, p_app text, p_user text, p_memory uuid, p_op text, p_bulk boolean DEFAULT false
)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_revision bigint;
BEGIN
    INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op, kind, app_id, bulk)
    VALUES (p_tenant, recollect.memory_queue(p_tenant, p_app, p_user), p_memory, 0, p_op, 'memory',
        CASE p_op WHEN 'upsert' THEN p_app END, p_bulk)
    RETURNING id INTO v_revision;
    PERFORM recollect.supersede_changes(p_tenant, recollect.memory_queue(p_tenant, p_app, p_user), ARRAY[p_memory], v_revision);
    RETURN v_revision;
END;
$$;
