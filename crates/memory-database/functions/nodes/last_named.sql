-- The last message among the turns that were added under one of these names, which the thread
-- did not know then. Null: there are none.
CREATE OR REPLACE FUNCTION recollect.last_node_message_named(
    p_tenant text, p_thread uuid, p_node text, p_names text[], OUT message_id text
)
LANGUAGE sql STABLE AS $$
    SELECT a.message_id
    FROM recollect.node_messages n
    JOIN recollect.node_messages a
        ON a.tenant_id = p_tenant AND a.thread_id = p_thread AND a.node_id = p_node
        AND a.parent_id = n.message_id AND a.role = 'assistant'
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
        AND n.late_name = ANY (p_names) AND n.role = 'user'
    ORDER BY a.added DESC
    LIMIT 1
$$;
