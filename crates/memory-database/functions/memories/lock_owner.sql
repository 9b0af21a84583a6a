-- Takes lock_memories of the owner of a memory, if it exists.
CREATE OR REPLACE FUNCTION recollect.lock_memory_owner(p_tenant text, p_memory uuid)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM recollect.lock_memories(p_tenant, m.app_id, m.user_id)
    FROM recollect.memories m
    WHERE m.tenant_id = p_tenant AND m.memory_id = p_memory;
END;
$$;
