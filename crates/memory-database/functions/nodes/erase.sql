-- Erases the memory of one node, and queues the deletion of its object and of the copies of
-- objects that could not be read. Returns whether there was one, and how many messages it had.
--
-- The row is deleted first. A call that adds a turn locks it: its turn is erased too, and later
-- turns start a new memory.
CREATE OR REPLACE FUNCTION recollect.erase_node(p_tenant text, p_thread uuid, p_node text, OUT existed boolean, OUT message_count bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_key text;
BEGIN
    DELETE FROM recollect.node_memories n
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
    RETURNING n.object_key, n.message_count INTO v_key, message_count;
    existed := FOUND;
    message_count := COALESCE(message_count, 0);
    DELETE FROM recollect.node_turns WHERE tenant_id = p_tenant AND thread_id = p_thread AND node_id = p_node;
    DELETE FROM recollect.node_messages WHERE tenant_id = p_tenant AND thread_id = p_thread AND node_id = p_node;
    DELETE FROM recollect.node_requests WHERE tenant_id = p_tenant AND thread_id = p_thread AND node_id = p_node;
    PERFORM recollect.release_contents(p_tenant, ARRAY[p_thread || '/' || p_node]);
    WITH copies AS (
        DELETE FROM recollect.node_copies c
        WHERE c.tenant_id = p_tenant AND c.thread_id = p_thread AND c.node_id = p_node
        RETURNING c.object_key
    )
    INSERT INTO recollect.object_deletions (tenant_id, thread_id, node_id, object_key)
    SELECT p_tenant, p_thread, p_node, copies.object_key FROM copies;
    IF existed THEN
        -- Also where has_object is false: a write may be under way.
        INSERT INTO recollect.object_deletions (tenant_id, thread_id, node_id, object_key)
        VALUES (p_tenant, p_thread, p_node, v_key);
    END IF;
END;
$$;
