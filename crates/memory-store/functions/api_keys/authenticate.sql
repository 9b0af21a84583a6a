-- Whom a key stands for. It is asked before the tenant is known, so no policy
-- could let the service see the row: this one function runs as a role of its
-- own, which may read keys and nothing else, and tells of the one key whose
-- digest the caller has.
CREATE OR REPLACE FUNCTION recollect.authenticate(p_digest bytea)
RETURNS TABLE (tenant_id text, name text, scopes text[])
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT k.tenant_id, k.name, k.scopes
    FROM recollect.api_keys k
    WHERE k.digest = p_digest
        AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
$$;

-- A new owner needs the right to create in the schema at this moment.
GRANT CREATE ON SCHEMA recollect TO recollect_auth;
ALTER FUNCTION recollect.authenticate OWNER TO recollect_auth;
REVOKE CREATE ON SCHEMA recollect FROM recollect_auth;
