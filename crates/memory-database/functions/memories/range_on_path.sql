-- The range of summaries that ends deepest on a path, given as the arrays of
-- recollect.path_arrays, and of these the newest. Null without one.
CREATE OR REPLACE FUNCTION recollect.memory_range_on_path(
    p_tenant text, p_thread uuid, p_branches integer[], p_depths integer[]
)
RETURNS recollect.memory_ranges
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_range recollect.memory_ranges;
BEGIN
    SELECT r.* INTO v_range
    FROM recollect.memory_ranges r
    WHERE r.tenant_id = p_tenant AND r.thread_id = p_thread
        AND recollect.is_on_path(p_branches, p_depths, r.branch, r.to_depth)
    ORDER BY r.to_depth DESC, r.number DESC
    LIMIT 1;
    RETURN v_range;
END;
$$;
