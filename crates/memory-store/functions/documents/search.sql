-- Finds documents below a namespace: without words in the order in which they were stored, the
-- last one first; with words those that have an indexed text first, by the words of the query
-- that they have, weighed by how rare these are among the documents selected. Of documents that
-- were also compared by meaning, this likeness makes up two thirds of the score.
CREATE OR REPLACE FUNCTION recollect.search_documents(
    p_tenant text, p_owner bytea, p_prefix text[],
    -- As document_matches takes them.
    p_fields text[], p_operators text[], p_values text[],
    -- Null: no query.
    p_words text,
    -- Documents that were compared with the query by meaning: JSON lists of labels, keys, and how
    -- alike they are, -1 to 1. Null: none was.
    p_namespaces text[], p_keys text[], p_likeness double precision[],
    p_limit bigint, p_offset bigint, p_refresh boolean, p_max_bytes bigint
)
RETURNS TABLE (
    namespace text[], key text, value text, ttl_seconds double precision, expires_at timestamptz,
    created_at timestamptz, updated_at timestamptz,
    -- 0 to 1; null: it was not compared with words.
    score double precision,
    -- Whether there are more documents after those returned.
    more boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_namespaces text[];
    v_keys text[];
    v_scores double precision[];
    v_after text[] := recollect.after_prefix(p_prefix);
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    IF p_words IS NULL THEN
        SELECT array_agg(to_json(f.namespace)::text ORDER BY f.number), array_agg(f.key ORDER BY f.number),
            array_agg(NULL::double precision)
        INTO v_namespaces, v_keys, v_scores
        FROM (
            SELECT d.namespace, d.key,
                row_number() OVER (ORDER BY d.updated_at DESC, d.namespace, d.key) AS number
            FROM recollect.documents d
            WHERE d.tenant_id = p_tenant AND d.owner = p_owner
                AND d.namespace >= p_prefix AND (v_after IS NULL OR d.namespace < v_after)
                AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
                AND recollect.document_matches(d.value, p_fields, p_operators, p_values)
            ORDER BY number
            LIMIT p_limit + 1 OFFSET p_offset
        ) AS f;
    ELSE
        WITH terms AS (
            SELECT t.term, t.query FROM recollect.query_terms(p_words) AS t
        ),
        selected AS MATERIALIZED (
            SELECT d.namespace, d.key, d.words, d.updated_at, length(d.words)::double precision AS length
            FROM recollect.documents d
            WHERE d.tenant_id = p_tenant AND d.owner = p_owner
                AND d.namespace >= p_prefix AND (v_after IS NULL OR d.namespace < v_after)
                AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
                AND recollect.document_matches(d.value, p_fields, p_operators, p_values)
        ),
        totals AS (
            SELECT count(*) AS documents, GREATEST(avg(s.length), 1) AS length FROM selected s WHERE s.words IS NOT NULL
        ),
        hits AS MATERIALIZED (
            SELECT terms.term, s.namespace, s.key
            FROM terms JOIN selected s ON s.words @@ terms.query
        ),
        weights AS (
            SELECT terms.term, ln(1 + (totals.documents + 0.5) / (count(hits.term) + 0.5)) AS weight
            FROM terms
            CROSS JOIN totals
            LEFT JOIN hits ON hits.term = terms.term
            GROUP BY terms.term, totals.documents
        ),
        alike AS (
            SELECT recollect.json_to_texts(u.namespace::jsonb) AS namespace, u.key, u.likeness
            FROM unnest(p_namespaces, p_keys, p_likeness) AS u (namespace, key, likeness)
        ),
        matches AS (
            SELECT hits.namespace, hits.key, sum(weights.weight) / (SELECT sum(w.weight) FROM weights w) AS share
            FROM hits JOIN weights ON weights.term = hits.term
            GROUP BY hits.namespace, hits.key
        )
        SELECT array_agg(to_json(f.namespace)::text ORDER BY f.number), array_agg(f.key ORDER BY f.number),
            array_agg(f.score ORDER BY f.number)
        INTO v_namespaces, v_keys, v_scores
        FROM (
            SELECT r.*, row_number() OVER (ORDER BY r.score DESC NULLS LAST, r.updated_at DESC, r.namespace, r.key) AS number
            FROM (
                SELECT s.namespace, s.key, s.updated_at,
                    CASE WHEN s.words IS NOT NULL THEN
                        -- A long text counts less than a short one.
                        COALESCE(m.share * 1.3 / (1 + 1.2 * (0.25 + 0.75 * s.length / totals.length)), 0)
                            * CASE WHEN p_likeness IS NULL THEN 1 ELSE 1.0 / 3 END
                        + COALESCE(GREATEST(a.likeness, 0), 0) * 2 / 3
                    END::double precision AS score
                FROM selected s
                CROSS JOIN totals
                LEFT JOIN matches m ON m.namespace = s.namespace AND m.key = s.key
                LEFT JOIN alike a ON a.namespace = s.namespace AND a.key = s.key
            ) AS r
            ORDER BY number
            LIMIT p_limit + 1 OFFSET p_offset
        ) AS f;
    END IF;
    IF p_refresh THEN
        PERFORM recollect.refresh_documents(p_tenant, p_owner, v_namespaces[:p_limit::integer], v_keys[:p_limit::integer]);
    END IF;
    RETURN QUERY
    SELECT page.namespace, page.key, page.value::text, EXTRACT(epoch FROM page.ttl)::double precision, page.expires_at,
        page.created_at, page.updated_at, page.score,
        cardinality(v_keys) > p_limit OR page.all_bytes > p_max_bytes
    FROM (
        SELECT d.namespace, d.key, d.value, d.ttl, d.expires_at, d.created_at, d.updated_at,
            u.score, u.place,
            sum(d.size_bytes) OVER (ORDER BY u.place) AS running_bytes,
            sum(d.size_bytes) OVER () AS all_bytes,
            row_number() OVER (ORDER BY u.place) AS number
        FROM unnest(v_namespaces, v_keys, v_scores) WITH ORDINALITY AS u (namespace, key, score, place)
        JOIN recollect.documents d
            ON d.tenant_id = p_tenant AND d.owner = p_owner
            AND d.namespace = recollect.json_to_texts(u.namespace::jsonb) AND d.key = u.key
    ) AS page
    WHERE page.place <= p_limit AND (page.running_bytes <= p_max_bytes OR page.number = 1)
    ORDER BY page.place;
END;
$$;
