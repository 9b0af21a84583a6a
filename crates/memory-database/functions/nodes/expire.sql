-- Erases a memory that has expired, with its copies. False: it has not, or does not
-- exist.
CREATE OR REPLACE FUNCTION recollect.expire_node_memory(p_tenant text, p_actor text, p_thread uuid, p_node text)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_count bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    -- Locked, so that a turn added meanwhile cannot extend its life.
    PERFORM FROM recollect.node_memories n
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
        AND n.expires_at <= clock_timestamp()
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT e.message_count INTO v_count FROM recollect.erase_node(p_tenant, p_thread, p_node) e;
    PERFORM recollect.audit(p_tenant, 'expire_node_memory', p_thread, p_node, v_count);
    RETURN true;
END;
$$;
