-- The tokens from the root to the message at a depth of a path, given as the arrays of
-- recollect.path_arrays. The message may be erased; 0 before the first one.
CREATE OR REPLACE FUNCTION recollect.path_tokens_at(
    p_tenant text, p_thread uuid, p_branches integer[], p_above integer[], p_depths integer[], p_depth integer
)
RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT COALESCE((
        SELECT m.path_tokens
        FROM unnest(p_branches, p_above, p_depths) AS part (branch, above, depth)
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread
            AND m.seq = recollect.seq_at(p_tenant, p_thread, part.branch, p_depth)
        WHERE part.above < p_depth AND part.depth >= p_depth), 0)
$$;
