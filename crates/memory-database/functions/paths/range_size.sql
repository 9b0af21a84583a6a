-- The number and the tokens of the readable messages of a range: on a path, with
-- p_after < depth ≤ p_to. The tokens are the difference of two messages' tokens from the root.
-- If a message of the thread was ever erased (not p_whole), the erased messages of the range
-- are read and subtracted.
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
        SELECT p_to - p_after - count(*),
            recollect.path_tokens_at(p_tenant, p_thread, p_branches, p_above, p_depths, p_to)
            - recollect.path_tokens_at(p_tenant, p_thread, p_branches, p_above, p_depths, p_after)
            - COALESCE(sum(
                recollect.path_tokens_at(p_tenant, p_thread, p_branches, p_above, p_depths, gone.depth)
                - recollect.path_tokens_at(p_tenant, p_thread, p_branches, p_above, p_depths, gone.depth - 1)), 0)
        INTO message_count, message_tokens
        FROM (
            SELECT DISTINCT m.depth
            FROM unnest(p_branches, p_above, p_depths) AS part (branch, above, depth)
            JOIN recollect.messages m
                ON m.tenant_id = p_tenant AND m.thread_id = p_thread
                AND m.branch = part.branch
                AND m.depth > GREATEST(part.above, p_after) AND m.depth <= LEAST(part.depth, p_to)
                AND m.deleted_at IS NOT NULL
            WHERE part.depth > p_after AND part.above < p_to
                -- No other message has taken the place.
                AND NOT EXISTS (
                    SELECT FROM recollect.messages f
                    WHERE f.tenant_id = p_tenant AND f.thread_id = p_thread
                        AND f.branch = m.branch AND f.depth = m.depth AND f.deleted_at IS NULL)
        ) AS gone;
    END IF;
END;
$$;
