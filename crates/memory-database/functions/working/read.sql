-- Reads the messages of a working memory, the newest first, and then one row without a
-- message, which has the rest. Stops after p_max_rows messages, or when they have
-- p_max_bytes; with p_max_rows 0 it reads no message.
CREATE OR REPLACE FUNCTION recollect.read_working_memory(
    p_tenant text, p_thread uuid, p_max_rows integer, p_max_bytes bigint
)
RETURNS TABLE (
    message recollect.message,
    status text, context text, context_tokens integer, summarized_count bigint,
    message_count bigint, message_tokens bigint,
    model text, context_window integer, data json, expires_at timestamptz, expired boolean, rebuilt boolean,
    anything boolean, etag text, updated_at timestamptz, covered integer, head_depth integer
)
LANGUAGE plpgsql STABLE
-- As in `history`: the index has the order.
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_state record;
    v_rows integer := 0;
    v_bytes bigint := 0;
    v_message record;
BEGIN
    SELECT s.* INTO v_state FROM recollect.working_state(p_tenant, p_thread) s;
    IF v_state.status = 'ok' THEN
        <<path>>
        FOR i IN 1..cardinality(v_state.branches) LOOP
            EXIT WHEN v_state.depths[i] <= v_state.covered OR v_rows >= p_max_rows;
            FOR v_message IN
                SELECT recollect.readable(m) AS message, m.bytes
                FROM recollect.messages m
                WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_state.branches[i]
                    AND m.depth > GREATEST(v_state.above[i], v_state.covered) AND m.depth <= v_state.depths[i]
                    AND m.deleted_at IS NULL
                ORDER BY m.depth DESC
                LIMIT p_max_rows - v_rows
            LOOP
                v_bytes := v_bytes + v_message.bytes;
                EXIT path WHEN v_bytes > p_max_bytes AND v_rows > 0;
                message := v_message.message;
                RETURN NEXT;
                v_rows := v_rows + 1;
            END LOOP;
        END LOOP;
    END IF;
    message := NULL;
    status := v_state.status;
    context := v_state.context;
    context_tokens := v_state.context_tokens;
    summarized_count := v_state.summarized_count;
    message_count := v_state.message_count;
    message_tokens := v_state.message_tokens;
    model := v_state.model;
    context_window := v_state.context_window;
    data := v_state.data;
    expires_at := v_state.expires_at;
    expired := v_state.expired;
    rebuilt := v_state.rebuilt;
    anything := v_state.anything;
    etag := v_state.etag;
    updated_at := v_state.updated_at;
    covered := v_state.covered;
    head_depth := v_state.head_depth;
    RETURN NEXT;
END;
$$;
