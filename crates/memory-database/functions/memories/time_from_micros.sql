-- A time from microseconds since 1970. Exact: as double precision, more than 53 bits
-- would be rounded.
CREATE OR REPLACE FUNCTION recollect.time_from_micros(p_micros bigint)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
    SELECT timestamptz 'epoch' + (p_micros / 1000000) * interval '1 second'
        + (p_micros % 1000000) * interval '1 microsecond'
$$;
