-- Finds the tenant, name, scopes and bounds of a key by its digest. The tenant is not known before,
-- so no policy could let the service see the row: this function runs as a separate role,
-- which may read keys and nothing else, and returns only the key with this digest.
CREATE OR REPLACE FUNCTION recollect.authenticate(p_digest bytea)
RETURNS TABLE (tenant_id text, name text, scopes text[], bounds jsonb)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT k.tenant_id, k.name, k.scopes, k.bounds
    FROM recollect.api_keys k
    WHERE k.digest = p_digest
        AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
$$;

-- A new owner needs the right to create in the schema at this moment.
GRANT CREATE ON SCHEMA recollect TO recollect_auth;
ALTER FUNCTION recollect.authenticate(bytea) OWNER TO recollect_auth;
REVOKE CREATE ON SCHEMA recollect FROM recollect_auth;
