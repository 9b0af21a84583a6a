-- The body is parsed now, so that Postgres knows that it calls document_term: a dump restores that
-- function before the table whose column is computed with it.
CREATE OR REPLACE FUNCTION recollect.document_terms(p_owner bytea, p_value jsonb)
RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN count(*) > 64 THEN ARRAY[recollect.document_term(p_owner, NULL, NULL)]
        ELSE COALESCE(array_agg(recollect.document_term(p_owner, f.field, f.value)), '{}') END
    FROM (
        SELECT e.field, e.value
        FROM jsonb_each(p_value) AS e (field, value)
        WHERE jsonb_typeof(e.value) IN ('string', 'number', 'boolean')
        LIMIT 65
    ) AS f;
END;
