-- The fields of a policy that SQL reads; null where it does not set them. The names are
-- the names that Rust serializes; a test compares them.
CREATE OR REPLACE FUNCTION recollect.policy_fields(
    p_policy jsonb,
    OUT ttl_seconds double precision, OUT rebuild_expired boolean, OUT extraction text
)
LANGUAGE sql IMMUTABLE AS $$
    SELECT (p_policy #>> '{ttl,secs}')::double precision + (p_policy #>> '{ttl,nanos}')::double precision / 1e9,
        (p_policy ->> 'rebuild_expired')::boolean, p_policy ->> 'extraction'
$$;
