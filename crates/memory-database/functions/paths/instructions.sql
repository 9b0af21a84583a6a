-- The instructions of a conversation: the readable system messages with which the path to a
-- place begins, before any other message; the oldest first, p_max_rows at most.
CREATE OR REPLACE FUNCTION recollect.instructions(
    p_tenant text, p_thread uuid, p_branch integer, p_depth integer, p_max_rows integer
)
RETURNS SETOF recollect.message
LANGUAGE plpgsql STABLE
-- As in `history`: the index has the order.
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
AS $$
DECLARE
    v_path record;
    v_message record;
    v_rows integer := 0;
BEGIN
    SELECT p.* INTO v_path FROM recollect.path_arrays(p_tenant, p_thread, p_branch, p_depth) p;
    -- The path has the newest branch first.
    FOR i IN REVERSE cardinality(v_path.branches)..1 LOOP
        FOR v_message IN
            SELECT recollect.readable(m) AS message, m.role
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_path.branches[i]
                AND m.depth > v_path.above[i] AND m.depth <= v_path.depths[i] AND m.deleted_at IS NULL
            ORDER BY m.depth
            LIMIT p_max_rows - v_rows + 1
        LOOP
            IF v_message.role <> 'system' OR v_rows = p_max_rows THEN
                RETURN;
            END IF;
            RETURN NEXT v_message.message;
            v_rows := v_rows + 1;
        END LOOP;
    END LOOP;
END;
$$;
