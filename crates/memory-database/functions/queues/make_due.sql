-- Makes rows of a queue due that wait until longer than p_seconds from now. Nothing waits that
-- long, so the clock of the database was set back since they got their time. Changes at most
-- p_limit rows, and leaves locked rows to the next call. Returns how many it changed.
CREATE OR REPLACE FUNCTION recollect.make_due(
    p_queue text, p_column text,
    -- The condition of the column's partial index, or `true` if its index is not partial.
    p_condition text,
    p_seconds double precision, p_limit bigint
)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_count bigint;
BEGIN
    EXECUTE format(
        'UPDATE recollect.%1$I SET %2$I = clock_timestamp()
         WHERE ctid = ANY (ARRAY(
            SELECT x.ctid FROM recollect.%1$I x
            WHERE x.%2$I > clock_timestamp() + make_interval(secs => $1) AND %3$s
            LIMIT $2
            FOR UPDATE SKIP LOCKED))',
        p_queue, p_column, p_condition)
    USING p_seconds, p_limit;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END;
$$;
