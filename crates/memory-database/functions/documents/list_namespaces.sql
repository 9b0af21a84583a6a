-- Lists the namespaces that have documents, in order, each once.
CREATE OR REPLACE FUNCTION recollect.list_namespaces(
    p_tenant text, p_owner bytea,
    -- The label * is any label.
    p_prefix text[], p_suffix text[],
    -- The labels that are kept of each; null: all.
    p_depth integer,
    p_limit bigint, p_offset bigint
)
RETURNS TABLE (namespace text[])
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    -- The labels before the first *, whose namespaces are adjacent.
    v_fixed text[] := p_prefix[:COALESCE(array_position(p_prefix, '*') - 1, cardinality(p_prefix))];
    v_path text := recollect.document_path(v_fixed);
BEGIN
    RETURN QUERY
    SELECT DISTINCT d.namespace[:COALESCE(p_depth, cardinality(d.namespace))] COLLATE "C" AS cut
    FROM recollect.documents d
    WHERE d.tenant_id = p_tenant AND d.owner = p_owner
        AND d.path >= v_path AND d.path < recollect.document_path_end(v_path)
        AND recollect.document_is_shown(d.path, v_path)
        AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
        AND cardinality(d.namespace) >= GREATEST(cardinality(p_prefix), cardinality(p_suffix))
        AND NOT EXISTS (
            SELECT FROM unnest(p_prefix) WITH ORDINALITY AS p (label, place)
            WHERE p.label <> '*' AND p.label <> d.namespace[p.place])
        AND NOT EXISTS (
            SELECT FROM unnest(p_suffix) WITH ORDINALITY AS s (label, place)
            WHERE s.label <> '*' AND s.label <> d.namespace[cardinality(d.namespace) - cardinality(p_suffix) + s.place])
    ORDER BY cut
    LIMIT p_limit OFFSET p_offset;
END;
$$;
