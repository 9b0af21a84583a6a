-- Finds memories of a user or an app by word, as match_messages finds messages.
CREATE OR REPLACE FUNCTION recollect.match_memories(
    p_scope text, p_words text, p_type text, p_topics text[], p_entities text[], p_thread uuid, p_origins text[],
    p_after timestamptz, p_before timestamptz, p_metadata jsonb, p_event_from timestamptz, p_event_until timestamptz,
    p_valid_at timestamptz, p_known_at timestamptz, p_kinds text[], p_superseded boolean, p_limit integer
)
RETURNS TABLE (memory_id uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_unbound boolean := recollect.is_unbound();
BEGIN
    RETURN QUERY
    WITH terms AS (
        SELECT t.term, t.query FROM recollect.query_terms(p_words) AS t
    ),
    hits AS MATERIALIZED (
        SELECT terms.term, found.memory_id, found.ordinal, found.length
        FROM terms
        CROSS JOIN LATERAL (
            SELECT m.memory_id, m.ordinal, length(m.words) AS length
            FROM recollect.memories m
            WHERE m.words @@ (p_scope::tsquery && terms.query)
                AND m.tenant_id || '' = current_setting('recollect.tenant', true)
                AND (v_unbound OR recollect.in_bounds(m.app_id, m.user_id))
                AND (p_superseded OR m.valid_until IS NULL)
                AND (p_type IS NULL OR m.type = p_type)
                AND (p_topics IS NULL OR m.topics && p_topics)
                AND (p_entities IS NULL OR m.entities && p_entities)
                AND (p_thread IS NULL OR m.thread_id = p_thread)
                AND (p_origins IS NULL OR m.origin = ANY (p_origins))
                AND (p_after IS NULL OR m.created_at >= p_after)
                AND (p_before IS NULL OR m.created_at < p_before)
                AND (p_metadata IS NULL OR m.metadata @> p_metadata)
                AND (p_kinds IS NULL OR m.kind = ANY (p_kinds))
                AND (p_event_from IS NULL OR m.event_time >= p_event_from)
                AND (p_event_until IS NULL OR m.event_time < p_event_until)
                AND recollect.memory_held_at(
                    m.valid_from, m.valid_until, m.created_at, m.ended_at, p_valid_at, p_known_at)
            LIMIT 5000
        ) AS found
    ),
    totals AS (
        SELECT count(DISTINCT hits.memory_id) AS memories, avg(hits.length) AS length FROM hits
    ),
    weights AS (
        SELECT hits.term, ln(1 + (totals.memories + 0.5) / (count(*) + 0.5)) AS weight
        FROM hits CROSS JOIN totals
        GROUP BY hits.term, totals.memories
    )
    SELECT hits.memory_id,
        (sum(weights.weight) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * hits.length / totals.length)))::double precision
    FROM hits
    JOIN weights ON weights.term = hits.term
    CROSS JOIN totals
    GROUP BY hits.memory_id, hits.ordinal, hits.length, totals.length
    ORDER BY 2 DESC, hits.ordinal DESC
    LIMIT p_limit;
END;
$$;

-- A new owner needs the right to create in the schema at this moment.
GRANT CREATE ON SCHEMA recollect TO recollect_search;
ALTER FUNCTION recollect.match_memories(text, text, text, text[], text[], uuid, text[], timestamptz, timestamptz, jsonb, timestamptz, timestamptz, timestamptz, timestamptz, text[], boolean, integer) OWNER TO recollect_search;
REVOKE CREATE ON SCHEMA recollect FROM recollect_search;
