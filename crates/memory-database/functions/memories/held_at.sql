-- Whether a memory was true at p_valid_at, as far as was known at p_known_at; null: at any time.
-- Without p_valid_at: whether it was believed at p_known_at. Postgres puts the expression in the
-- place of a call, so that it costs no more than written out.
CREATE OR REPLACE FUNCTION recollect.memory_held_at(
    p_valid_from timestamptz, p_valid_until timestamptz, p_created_at timestamptz, p_ended_at timestamptz,
    p_valid_at timestamptz, p_known_at timestamptz
)
RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT (p_valid_at IS NULL
            OR p_valid_from <= p_valid_at
                AND (p_valid_until IS NULL OR p_valid_until > p_valid_at OR p_ended_at > p_known_at))
        AND (p_known_at IS NULL
            OR p_created_at <= p_known_at
                AND (p_valid_at IS NOT NULL OR p_ended_at IS NULL OR p_ended_at > p_known_at))
$$;

GRANT EXECUTE ON FUNCTION
    recollect.memory_held_at(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz)
    TO recollect_search;
