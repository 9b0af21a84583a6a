-- Finds where in the conversation a turn of a node belongs.
CREATE OR REPLACE FUNCTION recollect.place_node_turn(
    p_tenant text, p_thread uuid, p_node text,
    -- The message that the turn belongs to, an id of the thread. Null: it is not named.
    p_message text,
    -- A message of the thread that takes its place where p_message is not given, or unknown
    -- and not p_strict; null: the head.
    p_else text, p_strict boolean,
    -- The place. Null: the thread does not know p_message yet, and nothing else counts.
    OUT seq bigint, OUT branch integer, OUT depth integer,
    -- Whether its message awaits an answer.
    OUT is_open boolean,
    -- The answer that the turn is added to; null: the first one after after_seq. After_seq
    -- is null where that is the next one.
    OUT child_seq bigint, OUT after_seq bigint,
    -- The message as a UUID, or the unknown name; null: the place before the first message.
    OUT thread_message_id text,
    -- The last message of the memory that belongs there too, with the same answer.
    OUT last_message_id text
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_head record;
    v_message record;
    v_path record;
    v_newest bigint;
    v_answer bigint;
    v_last record;
BEGIN
    SELECT t.head_id, t.head_branch, t.head_depth INTO v_head
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    SELECT m.message_id, m.external_id, m.seq, m.branch, m.depth, m.role INTO v_message
    FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.message_id = recollect.named_message(p_tenant, p_thread, p_message);
    IF FOUND THEN
        -- Turns that came under the name before the thread knew it.
        UPDATE recollect.node_messages a
        SET place_seq = v_message.seq, place_branch = v_message.branch, place_depth = v_message.depth,
            place_open = v_message.role IN ('user', 'tool')
        FROM recollect.node_messages n
        WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
            AND n.late_name IN (p_message, v_message.external_id, v_message.message_id::text) AND n.role = 'user'
            AND a.tenant_id = p_tenant AND a.thread_id = p_thread AND a.node_id = p_node
            AND a.parent_id = n.message_id AND a.role = 'assistant' AND a.place_seq IS NULL;
    ELSIF p_strict THEN
        thread_message_id := p_message;
        last_message_id := (SELECT n.message_id
            FROM recollect.last_node_message_named(p_tenant, p_thread, p_node, ARRAY[p_message]) n);
        RETURN;
    ELSE
        SELECT m.message_id, m.external_id, m.seq, m.branch, m.depth, m.role INTO v_message
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant
            AND m.message_id = COALESCE(recollect.named_message(p_tenant, p_thread, p_else), v_head.head_id);
    END IF;
    seq := COALESCE(v_message.seq, 0);
    branch := COALESCE(v_message.branch, 0);
    depth := COALESCE(v_message.depth, 0);
    is_open := COALESCE(v_message.role IN ('user', 'tool'), false);
    thread_message_id := v_message.message_id;

    SELECT n.message_id, n.child_seq, n.after_seq INTO v_last
    FROM recollect.node_messages n
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node AND n.place_seq = seq
    ORDER BY n.added DESC
    LIMIT 1;
    IF is_open THEN
        SELECT max(below.seq) INTO v_newest
        FROM recollect.seqs_below(p_tenant, p_thread, branch, depth) AS below;
    END IF;
    IF v_newest IS NOT NULL THEN
        -- It has been answered.
        SELECT p.* INTO v_path
        FROM recollect.path_arrays(p_tenant, p_thread, v_head.head_branch, v_head.head_depth) p;
        IF v_head.head_depth > depth AND recollect.is_on_path(v_path.branches, v_path.depths, branch, depth)
            AND EXISTS (
                SELECT FROM recollect.messages m
                WHERE m.tenant_id = p_tenant AND m.message_id = v_head.head_id
                    AND (m.role = 'tool' OR EXISTS (
                        SELECT FROM json_array_elements(m.parts) AS part (value)
                        WHERE part.value -> 'tool_call' IS NOT NULL)))
        THEN
            -- The answer is under way: the head is a call of a tool, or its result.
            v_answer := (
                SELECT recollect.seq_at(p_tenant, p_thread, part.branch, place_node_turn.depth + 1)
                FROM unnest(v_path.branches, v_path.above, v_path.depths) AS part (branch, above, depth)
                WHERE part.above <= place_node_turn.depth AND part.depth > place_node_turn.depth);
            after_seq := v_answer - 1;
        ELSIF v_last.child_seq = v_newest
            OR COALESCE(recollect.node_answer(
                p_tenant, p_thread, branch, depth, v_last.child_seq, v_last.after_seq), v_newest + 1) < v_newest
            OR v_last.message_id IS NULL
        THEN
            -- The newest answer has no turns yet, or only turns that came after it.
            v_answer := v_newest;
            child_seq := v_newest;
        END IF;
    END IF;
    IF NOT is_open OR recollect.node_answer(
        p_tenant, p_thread, branch, depth, v_last.child_seq, v_last.after_seq) IS NOT DISTINCT FROM v_answer
    THEN
        last_message_id := v_last.message_id;
    END IF;
END;
$$;
