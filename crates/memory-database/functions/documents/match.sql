-- Finds documents of an owner by the values of their fields, the one stored last first.
--
-- Under row-level security Postgres does not use the index over terms, as match_messages explains.
-- Different values may have the same term, so the caller compares the values under the policy.
CREATE OR REPLACE FUNCTION recollect.match_documents(
    p_owner bytea,
    -- As document_filter returns them.
    p_terms bigint[],
    -- The paths from the first up to, but not including, the second.
    p_path text, p_path_end text,
    -- Null: all.
    p_limit bigint
)
RETURNS TABLE (path text, key text)
LANGUAGE plpgsql STABLE ROWS 50 SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- Only the index over terms is used.
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_unbound boolean := recollect.is_unbound();
    v_any bigint[] := ARRAY[recollect.document_term(p_owner, NULL, NULL)];
BEGIN
    RETURN QUERY
    SELECT d.path, d.key
    FROM recollect.documents d
    WHERE (d.terms @> p_terms OR d.terms @> v_any)
        -- An expression, so that Postgres uses no index on the tenant.
        AND d.tenant_id || '' = current_setting('recollect.tenant', true)
        AND (v_unbound OR recollect.in_bounds(d.app_id, d.user_id))
        AND d.owner = p_owner AND d.path >= p_path AND d.path < p_path_end
        AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
    ORDER BY d.updated_at DESC, d.path, d.key
    LIMIT p_limit;
END;
$$;

-- A new owner needs the right to create in the schema at this moment.
GRANT EXECUTE ON FUNCTION recollect.document_term(bytea, text, jsonb) TO recollect_search;
GRANT CREATE ON SCHEMA recollect TO recollect_search;
ALTER FUNCTION recollect.match_documents(bytea, bigint[], text, text, bigint) OWNER TO recollect_search;
REVOKE CREATE ON SCHEMA recollect FROM recollect_search;
