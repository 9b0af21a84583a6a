-- Adds to the count of a table in counts of erased rows. A count of 0 is left out.
CREATE OR REPLACE FUNCTION recollect.add_count(p_counts jsonb, p_table text, p_count bigint)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF p_count = 0 THEN
        RETURN p_counts;
    END IF;
    RETURN p_counts || jsonb_build_object(p_table, COALESCE((p_counts ->> p_table)::bigint, 0) + p_count);
END;
$$;
