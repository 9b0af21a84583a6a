-- Finds the message of a node's memory that corresponds to a message of the thread, which
-- has the same id, be it the caller's own: the nearest one on the path to the root. Status:
-- ok (node_message_id is null without one) or message_not_found.
CREATE OR REPLACE FUNCTION recollect.nearest_node_message(
    p_tenant text, p_thread uuid, p_node text, p_message text,
    OUT status text, OUT node_message_id text
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_branch integer;
    v_depth integer;
    v_path record;
    v_role text;
BEGIN
    SELECT m.branch, m.depth INTO v_branch, v_depth
    FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.message_id = recollect.named_message(p_tenant, p_thread, p_message);
    IF NOT FOUND THEN
        status := 'message_not_found';
        RETURN;
    END IF;
    status := 'ok';
    SELECT p.* INTO v_path FROM recollect.path_arrays(p_tenant, p_thread, v_branch, v_depth) p;
    SELECT m.node_message_id, m.role INTO node_message_id, v_role
    FROM (
        SELECT n.message_id AS node_message_id, n.role, m.branch, m.depth
        FROM recollect.node_messages n
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.message_id = n.thread_message_id AND m.thread_id = p_thread
        WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
            AND n.thread_message_id IS NOT NULL
        UNION ALL
        SELECT n.message_id, n.role, m.branch, m.depth
        FROM recollect.node_messages n
        -- The limit keeps Postgres from reading all messages for a join.
        CROSS JOIN LATERAL (
            SELECT f.branch, f.depth
            FROM recollect.messages f
            WHERE f.tenant_id = p_tenant AND f.external_digest = recollect.external_digest(p_thread, n.message_id)
            LIMIT 1
        ) AS m
        WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
    ) AS m
    WHERE recollect.is_on_path(v_path.branches, v_path.depths, m.branch, m.depth)
    ORDER BY m.depth DESC
    LIMIT 1;
    IF v_role = 'user' THEN
        -- Its answer had been added before the later message came.
        SELECT COALESCE((
            SELECT n.message_id FROM recollect.node_messages n
            WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
                AND n.parent_id = node_message_id AND n.role = 'assistant'
            LIMIT 1), node_message_id)
        INTO node_message_id;
    END IF;
END;
$$;
