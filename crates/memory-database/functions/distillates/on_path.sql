-- The numbers of the texts of a kind that end on a path. No other text holds there.
CREATE OR REPLACE FUNCTION recollect.distillates_on_path(
    p_tenant text, p_thread uuid, p_kind text, p_branches integer[], p_depths integer[]
)
RETURNS SETOF bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT d.number
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = p_kind
        AND recollect.is_on_path(p_branches, p_depths, d.branch, d.to_depth);
END;
$$;
