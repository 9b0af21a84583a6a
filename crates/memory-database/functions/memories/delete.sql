-- Erases a memory.
CREATE OR REPLACE FUNCTION recollect.delete_memory(
    p_tenant text, p_actor text, p_memory uuid, OUT deleted boolean, OUT queue uuid, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_memory record;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM recollect.lock_memory_owner(p_tenant, p_memory);
    SELECT m.thread_id, m.app_id, m.user_id INTO v_memory FROM recollect.memories m
    WHERE m.tenant_id = p_tenant AND m.memory_id = p_memory;
    deleted := FOUND;
    IF deleted THEN
        SELECT e.queue, e.revision INTO queue, revision
        FROM recollect.erase_memories(p_tenant, ARRAY[p_memory]) AS e;
        PERFORM recollect.audit_of(
            p_tenant, 'delete_memory', v_memory.thread_id, p_memory::text, 1, v_memory.app_id, v_memory.user_id);
    END IF;
END;
$$;
