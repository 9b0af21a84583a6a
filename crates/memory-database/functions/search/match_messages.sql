-- Finds messages by word: the degraded form of recall, when the index is down.
--
-- Under row-level security Postgres does not use the index over words: `@@` is not
-- leakproof, so the policy is tested on every row first. Therefore this function runs as a
-- separate role, which may read no content, and filters by the tenant that the
-- transaction names. It returns ids and scores; content is read under the policy.
--
-- p_scope has the lexeme of a thread, a user or an app, or of a user in several apps. It
-- is a condition of the index: the size of other scopes costs nothing. Each word is looked up by
-- itself, in at most 5,000 messages. The score is BM25 with k1 = 1.2, b = 0.75 and every word counted once, over the
-- messages found.
CREATE OR REPLACE FUNCTION recollect.match_messages(
    p_scope text, p_words text, p_roles text[], p_names text[], p_users text[], p_start timestamptz,
    p_end timestamptz, p_metadata jsonb, p_limit integer
)
RETURNS TABLE (message_id uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- Only the index over words is used.
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
        SELECT terms.term, found.message_id, found.thread_id, found.seq, found.length
        FROM terms
        CROSS JOIN LATERAL (
            SELECT m.message_id, m.thread_id, m.seq, length(m.words) AS length
            FROM recollect.messages m
            WHERE m.words @@ (p_scope::tsquery && terms.query)
                -- An expression, so that Postgres uses no index on the tenant. (A deleted
                -- message has no words; a condition on deleted_at would allow the index
                -- over paths.)
                AND m.tenant_id || '' = current_setting('recollect.tenant', true)
                AND (v_unbound OR recollect.in_bounds(m.app_id, m.user_id))
                AND (p_roles IS NULL OR m.role = ANY (p_roles))
                AND (p_names IS NULL OR m.name = ANY (p_names))
                AND (p_users IS NULL OR m.said_by = ANY (p_users))
                AND (p_start IS NULL OR m.said_at >= p_start)
                AND (p_end IS NULL OR m.said_at < p_end)
                AND (p_metadata IS NULL OR m.metadata @> p_metadata)
            LIMIT 5000
        ) AS found
    ),
    totals AS (
        SELECT count(DISTINCT hits.message_id) AS messages, avg(hits.length) AS length FROM hits
    ),
    weights AS (
        SELECT hits.term, ln(1 + (totals.messages + 0.5) / (count(*) + 0.5)) AS weight
        FROM hits CROSS JOIN totals
        GROUP BY hits.term, totals.messages
    )
    SELECT hits.message_id,
        (sum(weights.weight) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * hits.length / totals.length)))::double precision
    FROM hits
    JOIN weights ON weights.term = hits.term
    CROSS JOIN totals
    GROUP BY hits.message_id, hits.thread_id, hits.seq, hits.length, totals.length
    ORDER BY 2 DESC, hits.thread_id, hits.seq DESC
    LIMIT p_limit;
END;
$$;

-- A new owner needs the right to create in the schema at this moment.
GRANT CREATE ON SCHEMA recollect TO recollect_search;
ALTER FUNCTION recollect.match_messages(text, text, text[], text[], text[], timestamptz, timestamptz, jsonb, integer)
    OWNER TO recollect_search;
REVOKE CREATE ON SCHEMA recollect FROM recollect_search;
