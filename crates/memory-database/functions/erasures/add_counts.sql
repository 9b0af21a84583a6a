-- The sum of two counts of erased rows.
CREATE OR REPLACE FUNCTION recollect.add_counts(p_counts jsonb, p_more jsonb)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_more record;
BEGIN
    FOR v_more IN SELECT m.key, m.value::bigint AS count FROM jsonb_each_text(p_more) AS m LOOP
        p_counts := recollect.add_count(p_counts, v_more.key, v_more.count);
    END LOOP;
    RETURN p_counts;
END;
$$;
