-- The number and the tokens of the readable messages of a range: those on a path with
-- p_after < depth ≤ p_to. If no message of the thread was ever erased (p_whole), it is the
-- difference between two messages' tokens from the root; otherwise the range is read.
CREATE OR REPLACE FUNCTION recollect.range_size(
    p_tenant text, p_thread uuid, p_whole boolean, p_branches integer[], p_above integer[], p_depths integer[],
    p_after integer, p_to integer,
    OUT message_count bigint, OUT message_tokens bigint
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    IF p_after >= p_to THEN
        message_count := 0;
        message_tokens := 0;
    ELSIF p_whole THEN
        SELECT p_to - p_after, COALESCE(sum(CASE WHEN m.depth = p_to THEN m.path_tokens ELSE -m.path_tokens END), 0)
        INTO message_count, message_tokens
        FROM unnest(p_branches, p_above, p_depths) AS part (branch, above, depth)
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread
            AND m.branch = part.branch AND m.depth IN (p_after, p_to)
            AND m.depth > part.above AND m.depth <= part.depth AND m.deleted_at IS NULL;
    ELSE
        SELECT count(*), COALESCE(sum(m.tokens), 0) INTO message_count, message_tokens
        FROM unnest(p_branches, p_above, p_depths) AS part (branch, above, depth)
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread
            AND m.branch = part.branch
            AND m.depth > GREATEST(part.above, p_after) AND m.depth <= LEAST(part.depth, p_to)
            AND m.deleted_at IS NULL
        WHERE part.depth > p_after AND part.above < p_to;
    END IF;
END;
$$;
