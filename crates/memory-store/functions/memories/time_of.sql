-- A time from microseconds since 1970, exactly: more than 53 bits of them would be
-- rounded.
CREATE OR REPLACE FUNCTION recollect.time_of(p_micros bigint)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
    SELECT timestamptz 'epoch' + (p_micros / 1000000) * interval '1 second'
        + (p_micros % 1000000) * interval '1 microsecond'
$$;
