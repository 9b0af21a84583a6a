-- Erases the memories of all nodes of a thread, copies included.
CREATE OR REPLACE FUNCTION recollect.erase_nodes(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM recollect.erase_node(p_tenant, p_thread, n.node_id)
    FROM recollect.node_memories n
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread;
    WITH copies AS (
        DELETE FROM recollect.node_copies c
        WHERE c.tenant_id = p_tenant AND c.thread_id = p_thread
        RETURNING c.node_id, c.object_key
    )
    INSERT INTO recollect.object_deletions (tenant_id, thread_id, node_id, object_key)
    SELECT p_tenant, p_thread, copies.node_id, copies.object_key FROM copies;
END;
$$;
