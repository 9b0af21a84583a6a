-- The day, in UTC, that usage is recorded under now.
CREATE OR REPLACE FUNCTION recollect.usage_day()
RETURNS date
LANGUAGE sql STABLE AS $$
    SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date
$$;
