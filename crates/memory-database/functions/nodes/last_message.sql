-- The last message of a node's memory on the path to a place of the thread, by the messages
-- of the thread that turns belong to. Null: the path has none.
--
-- A turn of a message that awaits an answer belongs to one answer, so it is on the paths
-- through that answer alone: when the answer is regenerated, it stays behind.
CREATE OR REPLACE FUNCTION recollect.last_node_message(
    p_tenant text, p_thread uuid, p_node text, p_branch integer, p_depth integer,
    -- Which turns of the place itself count: none, unanswered ones, or all.
    p_at text,
    OUT message_id text
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_path record;
    v_turn record;
    v_answer bigint;
BEGIN
    SELECT p.* INTO v_path FROM recollect.path_arrays(p_tenant, p_thread, p_branch, p_depth) p;
    FOR v_turn IN
        SELECT t.*
        FROM (
            SELECT n.message_id, n.added, n.place_seq AS seq, n.place_branch AS branch, n.place_depth AS depth,
                n.place_open AS is_open, n.child_seq, n.after_seq
            FROM recollect.node_messages n
            WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
                AND n.place_seq IS NOT NULL
            UNION ALL
            SELECT CASE
                    WHEN n.role = 'user' THEN COALESCE((
                        -- Its answer.
                        SELECT a.message_id FROM recollect.node_messages a
                        WHERE a.tenant_id = p_tenant AND a.thread_id = p_thread AND a.node_id = p_node
                            AND a.parent_id = n.message_id AND a.role = 'assistant'
                        LIMIT 1), n.message_id)
                    ELSE n.message_id
                END,
                n.added, m.seq, m.branch, m.depth, m.role IN ('user', 'tool'), NULL, n.after_seq
            FROM recollect.node_messages n
            -- The limits keep Postgres from reading all messages for a join.
            CROSS JOIN LATERAL (
                (SELECT f.seq, f.branch, f.depth, f.role
                 FROM recollect.messages f
                 WHERE f.tenant_id = p_tenant
                     AND f.external_digest = recollect.external_digest(p_thread, n.late_name)
                 LIMIT 1)
                UNION ALL
                (SELECT f.seq, f.branch, f.depth, f.role
                 FROM recollect.messages f
                 WHERE f.tenant_id = p_tenant AND f.message_id = n.late_id AND f.thread_id = p_thread
                 LIMIT 1)
            ) AS m
            WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
                AND n.late_name IS NOT NULL
        ) AS t
        WHERE t.depth < p_depth + CASE p_at WHEN 'none' THEN 0 ELSE 1 END
            AND recollect.is_on_path(v_path.branches, v_path.depths, t.branch, t.depth)
        ORDER BY t.depth DESC, t.added DESC
    LOOP
        -- Its message was deleted, and another one has taken the place.
        CONTINUE WHEN v_turn.seq > 0
            AND v_turn.seq <> recollect.seq_at(p_tenant, p_thread, v_turn.branch, v_turn.depth);
        IF v_turn.is_open AND (v_turn.depth < p_depth OR p_at = 'unanswered') THEN
            v_answer := recollect.node_answer(
                p_tenant, p_thread, v_turn.branch, v_turn.depth, v_turn.child_seq, v_turn.after_seq);
            CONTINUE WHEN v_answer IS DISTINCT FROM (
                SELECT recollect.seq_at(p_tenant, p_thread, part.branch, v_turn.depth + 1)
                FROM unnest(v_path.branches, v_path.above, v_path.depths) AS part (branch, above, depth)
                WHERE part.above <= v_turn.depth AND part.depth > v_turn.depth);
        END IF;
        message_id := v_turn.message_id;
        RETURN;
    END LOOP;
END;
$$;
