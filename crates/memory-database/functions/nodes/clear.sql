-- Clears the memory of a node at the request of a caller.
CREATE OR REPLACE FUNCTION recollect.delete_node_memory(
    p_tenant text, p_actor text, p_thread uuid, p_node text,
    OUT status text, OUT message_count bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_existed boolean;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT e.existed, e.message_count INTO v_existed, message_count
    FROM recollect.erase_node(p_tenant, p_thread, p_node) e;
    IF v_existed THEN
        PERFORM recollect.audit(p_tenant, 'delete_node_memory', p_thread, p_node, message_count);
    END IF;
    status := 'ok';
END;
$$;
