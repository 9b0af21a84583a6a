-- Finds documents below a namespace: without words in the order in which they were stored, the
-- last one first; with words those that have an indexed text first, by the words of the query
-- that they have, weighed by how rare these are among the documents selected. Of documents that
-- were also compared by meaning, this likeness makes up two thirds of the score.
CREATE OR REPLACE FUNCTION recollect.search_documents(
    p_tenant text, p_owner bytea, p_prefix text[],
    -- As document_filter takes them.
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
    v_path text := recollect.document_path(p_prefix);
    v_filter record;
    -- The largest number of documents that the index is asked for; null: all.
    v_most bigint := 4 * (p_offset + p_limit + 1);
    v_matched bigint;
    v_since timestamptz;
    v_count bigint;
    v_paths text[];
    v_keys text[];
    v_scores double precision[];
    v_more boolean;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    v_filter := recollect.document_filter(p_owner, p_fields, p_operators, p_values);
    IF p_words IS NULL AND v_filter.terms IS NOT NULL THEN
        LOOP
            WITH matched AS MATERIALIZED (
                SELECT m.path, m.key
                FROM recollect.match_documents(
                    p_owner, v_filter.terms, v_path, recollect.document_path_end(v_path), v_most) AS m
            )
            SELECT array_agg(f.path ORDER BY f.updated_at DESC, f.path, f.key),
                array_agg(f.key ORDER BY f.updated_at DESC, f.path, f.key), count(*), (SELECT count(*) FROM matched)
            INTO v_paths, v_keys, v_count, v_matched
            FROM (
                SELECT d.path, d.key, d.updated_at
                FROM matched m
                CROSS JOIN LATERAL recollect.document_named(p_tenant, p_owner, m.path, m.key) AS d
                WHERE recollect.document_is_shown(d.path, v_path)
                    AND (v_filter.path IS NULL OR jsonb_path_match(d.value, v_filter.path, v_filter.vars, true))
                    AND (v_filter.equal IS NULL
                        OR recollect.document_equals(d.value, v_filter.names, v_filter.wanted, v_filter.equal))
                ORDER BY d.updated_at DESC, d.path, d.key
                LIMIT p_limit + 1 OFFSET p_offset
            ) AS f;
            EXIT WHEN v_count > p_limit OR v_most IS NULL OR v_matched < v_most;
            -- Other conditions left too few.
            v_most := NULL;
        END LOOP;
    ELSIF p_words IS NULL THEN
        -- Among the owner's newest first.
        SELECT d.updated_at INTO v_since
        FROM recollect.documents d
        WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.updated_at > '-infinity'
        ORDER BY d.updated_at DESC
        LIMIT 1 OFFSET GREATEST(500, v_most);
        v_since := COALESCE(v_since, '-infinity');
        LOOP
            SELECT array_agg(f.path ORDER BY f.place), array_agg(f.key ORDER BY f.place), count(*)
            INTO v_paths, v_keys, v_count
            FROM recollect.newest_documents(
                p_tenant, p_owner, v_path, recollect.document_path_end(v_path), v_since,
                v_filter.path, v_filter.vars, v_filter.names, v_filter.wanted, v_filter.equal, p_limit + 1, p_offset
            ) WITH ORDINALITY AS f (path, key, place);
            EXIT WHEN v_count > p_limit OR v_since = '-infinity';
            v_since := '-infinity';
        END LOOP;
    ELSE
        WITH terms AS (
            SELECT t.term, t.query FROM recollect.query_terms(p_words) AS t
        ),
        selected AS MATERIALIZED (
            SELECT d.path, d.key, d.words, d.updated_at, length(d.words)::double precision AS length
            FROM recollect.documents d
            WHERE d.tenant_id = p_tenant AND d.owner = p_owner
                AND d.path >= v_path AND d.path < recollect.document_path_end(v_path)
                AND recollect.document_is_shown(d.path, v_path)
                AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
                AND (v_filter.path IS NULL OR jsonb_path_match(d.value, v_filter.path, v_filter.vars, true))
                AND (v_filter.equal IS NULL
                    OR recollect.document_equals(d.value, v_filter.names, v_filter.wanted, v_filter.equal))
        ),
        totals AS (
            SELECT count(*) AS documents, GREATEST(avg(s.length), 1) AS length FROM selected s WHERE s.words IS NOT NULL
        ),
        hits AS MATERIALIZED (
            SELECT terms.term, s.path, s.key
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
            SELECT u.path, u.key, u.likeness
            FROM unnest(recollect.document_paths(p_namespaces), p_keys, p_likeness) AS u (path, key, likeness)
        ),
        matches AS (
            SELECT hits.path, hits.key, sum(weights.weight) / (SELECT sum(w.weight) FROM weights w) AS share
            FROM hits JOIN weights ON weights.term = hits.term
            GROUP BY hits.path, hits.key
        )
        SELECT array_agg(f.path ORDER BY f.number), array_agg(f.key ORDER BY f.number),
            array_agg(f.score ORDER BY f.number)
        INTO v_paths, v_keys, v_scores
        FROM (
            SELECT r.*, row_number() OVER (ORDER BY r.score DESC NULLS LAST, r.updated_at DESC, r.path, r.key) AS number
            FROM (
                SELECT s.path, s.key, s.updated_at,
                    CASE WHEN s.words IS NOT NULL THEN
                        -- A long text counts less than a short one.
                        COALESCE(m.share * 1.3 / (1 + 1.2 * (0.25 + 0.75 * s.length / totals.length)), 0)
                            * CASE WHEN p_likeness IS NULL THEN 1 ELSE 1.0 / 3 END
                        + COALESCE(GREATEST(a.likeness, 0), 0) * 2 / 3
                    END::double precision AS score
                FROM selected s
                CROSS JOIN totals
                LEFT JOIN matches m ON m.path = s.path AND m.key = s.key
                LEFT JOIN alike a ON a.path = s.path AND a.key = s.key
            ) AS r
            ORDER BY number
            LIMIT p_limit + 1 OFFSET p_offset
        ) AS f;
    END IF;
    -- The documents that the answer contains.
    SELECT array_agg(s.path ORDER BY s.place) FILTER (WHERE s.fits), array_agg(s.key ORDER BY s.place) FILTER (WHERE s.fits),
        array_agg(s.score ORDER BY s.place) FILTER (WHERE s.fits), bool_or(NOT s.fits)
    INTO v_paths, v_keys, v_scores, v_more
    FROM (
        SELECT u.place, d.path, d.key, u.score,
            u.place <= p_limit AND (sum(d.size_bytes) OVER running <= p_max_bytes OR row_number() OVER running = 1) AS fits
        FROM unnest(v_paths, v_keys, v_scores) WITH ORDINALITY AS u (path, key, score, place)
        CROSS JOIN LATERAL recollect.document_named(p_tenant, p_owner, u.path, u.key) AS d
        WINDOW running AS (ORDER BY u.place)
    ) AS s;
    IF p_refresh THEN
        PERFORM recollect.refresh_documents(p_tenant, p_owner, v_paths, v_keys);
    END IF;
    RETURN QUERY
    SELECT d.namespace, d.key, d.value::text, EXTRACT(epoch FROM d.ttl)::double precision, d.expires_at,
        d.created_at, d.updated_at, u.score, v_more
    FROM unnest(v_paths, v_keys, v_scores) WITH ORDINALITY AS u (path, key, score, place)
    CROSS JOIN LATERAL recollect.document_named(p_tenant, p_owner, u.path, u.key) AS d
    ORDER BY u.place;
END;
$$;
