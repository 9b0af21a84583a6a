-- Records that an object with the turns p_turns was written. False if the memory was erased
-- meanwhile, even if it was used again since.
CREATE OR REPLACE FUNCTION recollect.record_node_flush(
    p_tenant text, p_thread uuid, p_node text, p_ordinal bigint, p_turns bigint[], p_etag text, p_size bigint
)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_count bigint;
    v_bytes bigint;
BEGIN
    -- Waits for turns that are being added.
    PERFORM FROM recollect.node_memories n
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node AND n.ordinal = p_ordinal
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    WITH folded AS (
        DELETE FROM recollect.node_turns t
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND t.node_id = p_node AND t.id = ANY (p_turns)
        RETURNING t.bytes
    )
    SELECT count(*), COALESCE(sum(folded.bytes), 0) INTO v_count, v_bytes FROM folded;
    UPDATE recollect.node_memories n
    SET has_object = true, etag = p_etag, size_bytes = p_size,
        waiting_count = n.waiting_count - v_count,
        waiting_bytes = n.waiting_bytes - v_bytes,
        waiting_since = (
            SELECT t.created_at FROM recollect.node_turns t
            WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND t.node_id = p_node
            ORDER BY t.id
            LIMIT 1),
        flushed_at = clock_timestamp(), last_error = '', failed_at = NULL, failures = 0, retry_at = NULL
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node;
    IF v_count > 0 THEN
        PERFORM recollect.audit(p_tenant, 'flush_node_memory', p_thread, p_node, v_count);
    END IF;
    RETURN true;
END;
$$;
