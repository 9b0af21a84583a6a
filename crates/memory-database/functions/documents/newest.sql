-- Finds documents of an owner that were stored after p_since, the last one first.
CREATE OR REPLACE FUNCTION recollect.newest_documents(
    p_tenant text, p_owner bytea,
    -- The paths from the first up to, but not including, the second.
    p_path text, p_path_end text, p_since timestamptz,
    -- As document_filter returns them.
    p_filter jsonpath, p_vars jsonb, p_names jsonb[], p_wanted jsonb[], p_equal boolean[],
    p_limit bigint, p_offset bigint
)
RETURNS TABLE (path text, key text)
LANGUAGE plpgsql STABLE ROWS 50
-- Whether the index over time or the one over paths has fewer depends on the parameters.
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT d.path, d.key
    FROM recollect.documents d
    WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.path >= p_path AND d.path < p_path_end
        AND recollect.document_is_shown(d.path, p_path)
        -- The former for its index.
        AND d.updated_at > '-infinity' AND d.updated_at > p_since
        AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
        AND (p_filter IS NULL OR jsonb_path_match(d.value, p_filter, p_vars, true))
        AND (p_equal IS NULL OR recollect.document_equals(d.value, p_names, p_wanted, p_equal))
    ORDER BY d.updated_at DESC, d.path, d.key
    LIMIT p_limit OFFSET p_offset;
END;
$$;
