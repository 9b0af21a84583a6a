-- The message of a node's memory that a message of the thread stands for: the
-- nearest one on the way to the root. Status: ok (node_message_id is null where
-- there is none) or message_not_found.
CREATE OR REPLACE FUNCTION recollect.nearest_node_message(
    p_tenant text, p_thread uuid, p_node text, p_message uuid,
    OUT status text, OUT node_message_id text
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_branch integer;
    v_depth integer;
    v_branches integer[] := '{}';
    v_depths integer[] := '{}';
    v_role text;
BEGIN
    SELECT m.branch, m.depth INTO v_branch, v_depth
    FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.message_id = p_message
        AND m.thread_id = p_thread AND m.deleted_at IS NULL;
    IF NOT FOUND THEN
        status := 'message_not_found';
        RETURN;
    END IF;
    status := 'ok';
    -- No way is longer in practice; it bounds the work.
    WHILE v_branch > 0 AND cardinality(v_branches) < 10000 LOOP
        v_branches := v_branches || v_branch;
        v_depths := v_depths || v_depth;
        SELECT COALESCE(b.parent_branch, 0), LEAST(b.fork_depth, v_depth) INTO STRICT v_branch, v_depth
        FROM recollect.branches b
        WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = v_branch;
    END LOOP;
    SELECT n.message_id, n.role INTO node_message_id, v_role
    FROM recollect.node_messages n
    JOIN recollect.messages m
        ON m.tenant_id = p_tenant AND m.message_id = n.thread_message_id AND m.thread_id = p_thread
    JOIN unnest(v_branches, v_depths) AS way (branch, depth)
        ON m.branch = way.branch AND m.depth <= way.depth
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
        AND n.thread_message_id IS NOT NULL
    ORDER BY m.depth DESC
    LIMIT 1;
    IF v_role = 'user' THEN
        -- Its answer was given by the time that a later message came.
        SELECT COALESCE((
            SELECT n.message_id FROM recollect.node_messages n
            WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
                AND n.parent_id = node_message_id AND n.role = 'assistant'
            LIMIT 1), node_message_id)
        INTO node_message_id;
    END IF;
END;
$$;
