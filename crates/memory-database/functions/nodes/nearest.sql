-- Finds the last message of a node's dialogue at a message of the thread, or, if p_message is
-- empty, at the thread's head. p_message may also be an id within the node, or a name that
-- turns were added under and that the thread does not know yet. Status: ok (node_message_id
-- is null where the dialogue is empty) or message_not_found.
CREATE OR REPLACE FUNCTION recollect.nearest_node_message(
    p_tenant text, p_thread uuid, p_node text, p_message text,
    OUT status text, OUT node_message_id text
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_head record;
    v_place record;
    v_at text := 'all';
BEGIN
    status := 'ok';
    SELECT t.head_id AS message_id, t.head_branch AS branch, t.head_depth AS depth INTO v_head
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    IF p_message = '' THEN
        v_place := v_head;
    ELSE
        SELECT m.message_id, m.branch, m.depth INTO v_place
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = recollect.named_message(p_tenant, p_thread, p_message);
        IF NOT FOUND THEN
            SELECT n.message_id INTO node_message_id
            FROM recollect.node_messages n
            WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
                AND n.message_id = p_message;
            IF NOT FOUND THEN
                SELECT s.message_id INTO node_message_id
                FROM recollect.last_node_message_named(p_tenant, p_thread, p_node, ARRAY[p_message]) s;
            END IF;
            IF node_message_id IS NULL THEN
                status := 'message_not_found';
            END IF;
            RETURN;
        END IF;
    END IF;
    IF v_place.depth > 0 AND v_place.message_id = v_head.message_id AND EXISTS (
        SELECT FROM recollect.seqs_below(p_tenant, p_thread, v_place.branch, v_place.depth))
    THEN
        -- The head was set back: the message is about to be answered once more.
        v_at := 'unanswered';
    END IF;
    SELECT l.message_id INTO node_message_id
    FROM recollect.last_node_message(p_tenant, p_thread, p_node, v_place.branch, v_place.depth, v_at) l;
END;
$$;
