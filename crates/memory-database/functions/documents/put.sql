-- Stores documents of a user or an app, or of none.
CREATE OR REPLACE FUNCTION recollect.put_documents(
    p_tenant text, p_actor text, p_app text, p_user text, p_owner bytea,
    -- JSON lists of labels.
    p_namespaces text[], p_keys text[],
    -- JSON objects.
    p_values text[],
    -- What queries match, and its words; null: no query matches the document.
    p_texts text[], p_words text[],
    -- Null: without end.
    p_ttl_seconds double precision[],
    p_max_bytes bigint,
    -- Without it, a document that exists keeps its value, and lives as long.
    p_may_erase boolean,
    -- What the audit log records. Null: put_documents; empty: nothing.
    p_action text,
    -- The documents that did not exist.
    OUT created_count bigint,
    -- The place, from 0, of the first value with more than p_max_bytes as JSON text, in which numbers
    -- have no exponent; then nothing is stored. Null: every value is within the limit.
    OUT too_large bigint,
    -- The place, from 0, of the first document that needs p_may_erase; then nothing is stored. Null: none.
    OUT needs_erase bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_paths text[] := recollect.document_paths(p_namespaces);
    v_now timestamptz;
    v_stored bigint;
    v_sizes bigint[] := ARRAY(
        SELECT octet_length(u.value::jsonb::text)::bigint FROM unnest(p_values) WITH ORDINALITY AS u (value, place)
        ORDER BY u.place);
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    SELECT min(u.place) - 1 INTO too_large FROM unnest(v_sizes) WITH ORDINALITY AS u (size, place)
    WHERE u.size > p_max_bytes;
    IF too_large IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM recollect.allow_creation(p_tenant, p_app, p_user);
    v_now := clock_timestamp();
    IF NOT p_may_erase THEN
        SELECT min(u.place) - 1 INTO needs_erase
        FROM unnest(v_paths, p_keys, p_values, p_texts, p_ttl_seconds) WITH ORDINALITY
            AS u (path, key, value, text, ttl, place)
        CROSS JOIN LATERAL recollect.document_named(p_tenant, p_owner, u.path, u.key) AS d
        WHERE COALESCE(d.expires_at, 'infinity') > v_now AND (
            d.value <> u.value::jsonb OR d.text IS DISTINCT FROM u.text
            OR COALESCE(v_now + make_interval(secs => u.ttl), 'infinity') < COALESCE(d.expires_at, 'infinity')
            -- Reads may refresh it by its ttl.
            OR make_interval(secs => u.ttl) < d.ttl);
        IF needs_erase IS NOT NULL THEN
            RETURN;
        END IF;
    END IF;
    WITH expired AS (
        SELECT count(*) AS count
        FROM unnest(v_paths, p_keys) AS u (path, key)
        CROSS JOIN LATERAL recollect.document_named(p_tenant, p_owner, u.path, u.key) AS d
        WHERE d.expires_at <= v_now
    ),
    stored AS (
        INSERT INTO recollect.documents AS d
            (tenant_id, owner, namespace, key, app_id, user_id, value, size_bytes, text, words, ttl, expires_at, created_at,
            updated_at)
        SELECT p_tenant, p_owner, recollect.json_to_texts(u.namespace::jsonb), u.key, p_app, p_user, u.value::jsonb, u.size,
            u.text, recollect.lexemes(u.words), make_interval(secs => u.ttl), v_now + make_interval(secs => u.ttl),
            v_now, v_now
        FROM unnest(v_paths, p_namespaces, p_keys, p_values, v_sizes, p_texts, p_words, p_ttl_seconds)
            AS u (path, namespace, key, value, size, text, words, ttl)
        -- In order, to avoid deadlocks.
        ORDER BY u.path COLLATE "C", u.key COLLATE "C"
        ON CONFLICT (tenant_id, owner, path, key) DO UPDATE
        SET value = EXCLUDED.value, size_bytes = EXCLUDED.size_bytes, text = EXCLUDED.text, words = EXCLUDED.words, ttl = EXCLUDED.ttl, expires_at = EXCLUDED.expires_at,
            updated_at = EXCLUDED.updated_at,
            created_at = CASE WHEN d.expires_at <= v_now THEN EXCLUDED.created_at ELSE d.created_at END
        -- As above, for a document that another call has stored meanwhile.
        WHERE p_may_erase OR d.expires_at <= v_now OR (
            d.value = EXCLUDED.value AND d.text IS NOT DISTINCT FROM EXCLUDED.text
            AND COALESCE(d.expires_at, 'infinity') <= COALESCE(EXCLUDED.expires_at, 'infinity')
            AND COALESCE(EXCLUDED.ttl >= d.ttl, EXCLUDED.ttl IS NULL))
        RETURNING d.xmax = 0 AS created
    )
    SELECT (SELECT count(*) FROM stored WHERE stored.created) + expired.count, (SELECT count(*) FROM stored)
    INTO created_count, v_stored
    FROM expired;
    IF v_stored < cardinality(p_keys) THEN
        RAISE SQLSTATE '40001' USING MESSAGE = 'a document was stored meanwhile';
    END IF;
    IF p_action IS DISTINCT FROM '' THEN
        PERFORM recollect.audit_of(
            p_tenant, COALESCE(p_action, 'put_documents'), NULL, p_app, cardinality(p_keys), p_app, p_user);
    END IF;
END;
$$;
