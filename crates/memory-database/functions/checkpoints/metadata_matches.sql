-- Whether metadata has each field of one of these JSON objects with an equal value; also if there
-- are no objects.
CREATE OR REPLACE FUNCTION recollect.checkpoint_metadata_matches(p_metadata jsonb, p_filters jsonb[])
RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT cardinality(p_filters) = 0 OR EXISTS (
        SELECT FROM unnest(p_filters) AS f (filter)
        WHERE NOT EXISTS (
            SELECT FROM jsonb_each(f.filter) AS e (field, value)
            WHERE (p_metadata -> e.field) IS DISTINCT FROM e.value))
$$;
