-- The documents with an indexed text that a search selects, to be compared with the query by their
-- meaning: those with the most words of the query first, then those stored last.
CREATE OR REPLACE FUNCTION recollect.document_candidates(
    p_tenant text, p_owner bytea, p_prefix text[], p_fields text[], p_operators text[], p_values text[], p_words text,
    p_limit bigint
)
RETURNS TABLE (
    namespace text[], key text, text text,
    -- The number of words of the query that it has.
    word_count bigint,
    -- The documents selected, those beyond the limit included.
    selected_count bigint
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_after text[] := recollect.after_prefix(p_prefix);
BEGIN
    RETURN QUERY
    WITH terms AS MATERIALIZED (
        SELECT t.query FROM recollect.query_terms(p_words) AS t
    )
    SELECT d.namespace, d.key, d.text,
        (SELECT count(*) FROM terms WHERE d.words @@ terms.query) AS words, count(*) OVER ()
    FROM recollect.documents d
    WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.text IS NOT NULL
        AND d.namespace >= p_prefix AND (v_after IS NULL OR d.namespace < v_after)
        AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
        AND recollect.document_matches(d.value, p_fields, p_operators, p_values)
    ORDER BY words DESC, d.updated_at DESC, d.namespace, d.key
    LIMIT p_limit;
END;
$$;
