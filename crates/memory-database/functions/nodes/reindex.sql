-- Makes the index of ids agree with an object that another writer has replaced. The ids
-- of waiting turns stay in it.
CREATE OR REPLACE FUNCTION recollect.reindex_node(
    p_tenant text, p_thread uuid, p_node text, p_ordinal bigint,
    p_ids text[], p_parents text[], p_roles text[], p_uuids uuid[]
)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM recollect.node_memories n
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node AND n.ordinal = p_ordinal
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    DELETE FROM recollect.node_messages m
    WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.node_id = p_node
        AND m.message_id <> ALL (p_ids)
        AND NOT EXISTS (
            SELECT FROM recollect.node_turns t
            WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND t.node_id = p_node
                AND (t.messages -> 0 ->> 'message_id' = m.message_id
                     OR t.messages -> 1 ->> 'message_id' = m.message_id));
    INSERT INTO recollect.node_messages
        (tenant_id, thread_id, node_id, message_id, parent_id, role, late_name, late_id)
    SELECT p_tenant, p_thread, p_node, f.id, f.parent, f.role, f.id, f.late_id
    FROM unnest(p_ids, p_parents, p_roles, p_uuids) AS f (id, parent, role, late_id)
    ON CONFLICT DO NOTHING;
    UPDATE recollect.node_memories n
    SET message_count = (
            SELECT count(*) FROM recollect.node_messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.node_id = p_node)
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node;
END;
$$;
