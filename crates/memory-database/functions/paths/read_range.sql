-- Reads the readable messages of a range of the path to p_head (null: the thread's head), with
-- p_after < depth ≤ p_to, the oldest first. Then comes one row without a message,
-- which has the status (ok, thread_not_found, message_not_found) and whether more of the
-- range remain. Stops after p_max_rows messages, or when they have p_max_tokens or
-- p_max_bytes; the first message is always returned.
CREATE OR REPLACE FUNCTION recollect.read_range(
    p_tenant text, p_thread uuid, p_head uuid, p_after integer, p_to integer,
    p_max_rows integer, p_max_tokens bigint, p_max_bytes bigint
)
RETURNS TABLE (
    status text, more boolean, summary_generation bigint, observation_generation bigint,
    message recollect.message, imported boolean
)
LANGUAGE plpgsql STABLE
-- As in `history`: the index has the order.
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_branch integer;
    v_depth integer;
    v_path record;
    v_rows integer := 0;
    v_tokens bigint := 0;
    v_bytes bigint := 0;
    v_message record;
BEGIN
    more := false;
    SELECT t.head_branch, t.head_depth, t.summary_generation, t.observation_generation INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN NEXT;
        RETURN;
    END IF;
    summary_generation := v_thread.summary_generation;
    observation_generation := v_thread.observation_generation;
    v_branch := v_thread.head_branch;
    v_depth := v_thread.head_depth;
    IF p_head IS NOT NULL THEN
        SELECT m.branch, m.depth INTO v_branch, v_depth
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = p_head
            AND m.thread_id = p_thread AND m.deleted_at IS NULL;
        IF NOT FOUND THEN
            status := 'message_not_found';
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    SELECT p.* INTO v_path FROM recollect.path_arrays(p_tenant, p_thread, v_branch, v_depth) p;

    -- The path has the newest branch first.
    <<branches>>
    FOR i IN REVERSE cardinality(v_path.branches)..1 LOOP
        CONTINUE WHEN v_path.depths[i] <= p_after;
        FOR v_message IN
            SELECT recollect.readable(m) AS message, m.imported, m.tokens, m.bytes
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_path.branches[i]
                AND m.depth > GREATEST(v_path.above[i], p_after) AND m.depth <= LEAST(v_path.depths[i], p_to)
                AND m.deleted_at IS NULL
            ORDER BY m.depth
            LIMIT p_max_rows - v_rows + 1
        LOOP
            IF v_rows > 0 AND (v_rows >= p_max_rows OR v_tokens + v_message.tokens > p_max_tokens
                OR v_bytes + v_message.bytes > p_max_bytes)
            THEN
                more := true;
                EXIT branches;
            END IF;
            message := v_message.message;
            imported := v_message.imported;
            RETURN NEXT;
            v_rows := v_rows + 1;
            v_tokens := v_tokens + v_message.tokens;
            v_bytes := v_bytes + v_message.bytes;
        END LOOP;
    END LOOP;
    message := NULL;
    status := 'ok';
    RETURN NEXT;
END;
$$;
