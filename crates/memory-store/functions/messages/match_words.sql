-- Finds messages by word: the degraded form of recall, when the index is down.
--
-- Under row-level security the index over words is out of reach: `@@` is not
-- leakproof, so Postgres tests the policy on every row first. Therefore this
-- one function runs as a role of its own, which may read no content, and binds
-- the tenant itself, to the one that the transaction names. It gives out ids
-- and scores; whoever wants content reads it under the policy.
--
-- p_scope is the lexeme of a thread, a user or an app: a condition that the
-- index answers, so that the size of other scopes costs nothing. Each word is
-- looked up by itself, at most 5,000 messages of it, and the score is BM25 with
-- k1 = 1.2, b = 0.75 and every word counted once, over the messages found.
CREATE OR REPLACE FUNCTION recollect.match_words(
    p_scope text, p_words text, p_roles text[], p_names text[], p_start timestamptz, p_end timestamptz,
    p_metadata jsonb, p_limit integer
)
RETURNS TABLE (message_id uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- Only the index over words may drive the search.
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH terms AS (
        SELECT t.term, ('''' || replace(replace(t.term, '\', '\\'), '''', '''''') || '''')::tsquery AS query
        FROM unnest(tsvector_to_array(to_tsvector('pg_catalog.english', p_words))) AS t (term)
        LIMIT 64
    ),
    hits AS MATERIALIZED (
        SELECT terms.term, found.message_id, found.thread_id, found.seq, found.length
        FROM terms
        CROSS JOIN LATERAL (
            SELECT m.message_id, m.thread_id, m.seq, length(m.words) AS length
            FROM recollect.messages m
            WHERE m.words @@ (p_scope::tsquery && terms.query)
                -- An expression, so that no index on the tenant is tempting. (A
                -- deleted message has no words; to ask for that would make the
                -- index over paths tempting.)
                AND m.tenant_id || '' = current_setting('recollect.tenant', true)
                AND (p_roles IS NULL OR m.role = ANY (p_roles))
                AND (p_names IS NULL OR m.name = ANY (p_names))
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
ALTER FUNCTION recollect.match_words OWNER TO recollect_search;
REVOKE CREATE ON SCHEMA recollect FROM recollect_search;
