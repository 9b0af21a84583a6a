-- Today, for the ledger.
CREATE OR REPLACE FUNCTION recollect.ledger_day()
RETURNS date
LANGUAGE sql STABLE AS $$
    SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date
$$;
