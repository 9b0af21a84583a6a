-- The documents with an indexed text that a search selects, to be compared with the query by their
-- meaning: first by the number of words of the query, then the one stored last first.
CREATE OR REPLACE FUNCTION recollect.document_candidates(
    p_tenant text, p_owner bytea, p_prefix text[], p_fields text[], p_operators text[], p_values text[], p_words text,
    p_limit bigint
)
RETURNS TABLE (
    namespace text[], key text, text text,
    -- The number of words of the query that it has.
    word_count bigint,
    -- All documents selected, also beyond the limit.
    selected_count bigint
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_path text := recollect.document_path(p_prefix);
    v_filter record;
BEGIN
    v_filter := recollect.document_filter(p_owner, p_fields, p_operators, p_values);
    RETURN QUERY
    WITH terms AS MATERIALIZED (
        SELECT t.query FROM recollect.query_terms(p_words) AS t
    )
    SELECT d.namespace, d.key, d.text,
        (SELECT count(*) FROM terms WHERE d.words @@ terms.query) AS words, count(*) OVER ()
    FROM recollect.documents d
    WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.text IS NOT NULL
        AND d.path >= v_path AND d.path < recollect.document_path_end(v_path)
        AND recollect.document_is_shown(d.path, v_path)
        AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
        AND (v_filter.path IS NULL OR jsonb_path_match(d.value, v_filter.path, v_filter.vars, true))
        AND (v_filter.equal IS NULL
            OR recollect.document_equals(d.value, v_filter.names, v_filter.wanted, v_filter.equal))
    ORDER BY words DESC, d.updated_at DESC, d.path, d.key
    LIMIT p_limit;
END;
$$;
