-- The texts of a kind that hold on the path to a place.
CREATE OR REPLACE FUNCTION recollect.valid_distillates(
    p_tenant text, p_thread uuid, p_kind text, p_branches integer[], p_depths integer[]
)
RETURNS SETOF bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT d.number
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = p_kind
        AND (d.branch = 0 OR EXISTS (
            SELECT FROM unnest(p_branches, p_depths) AS way (branch, depth)
            WHERE way.branch = d.branch AND way.depth >= d.to_depth));
END;
$$;
