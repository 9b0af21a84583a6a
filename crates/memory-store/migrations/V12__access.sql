-- API keys, by their SHA-256 alone.
CREATE TABLE recollect.api_keys (
    tenant_id text NOT NULL,
    name text NOT NULL,
    -- The order of creation.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    -- What it may do.
    scopes text[] NOT NULL CHECK (
        cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'erase', 'admin']
    ),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Null: never.
    expires_at timestamptz,
    PRIMARY KEY (tenant_id, name)
);

-- Without the tenant, because the tenant is what is asked for.
CREATE UNIQUE INDEX api_keys_by_digest ON recollect.api_keys (digest);
CREATE INDEX api_keys_by_ordinal ON recollect.api_keys (tenant_id, ordinal);

-- Secrets of tenants: AES-256-GCM, with tenant and name as associated data, so
-- that a row is worth nothing in another place.
CREATE TABLE recollect.secrets (
    tenant_id text NOT NULL,
    name text COLLATE "C" NOT NULL,
    -- Which key of the server's configuration it is encrypted with.
    key_id text NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    PRIMARY KEY (tenant_id, name)
);

SELECT recollect.isolate('api_keys', 'secrets');

-- A key is made and ended, never changed, and nobody reads its digest.
GRANT SELECT (tenant_id, name, ordinal, scopes, created_at, expires_at), INSERT, DELETE
    ON recollect.api_keys TO recollect_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.secrets TO recollect_service;

-- Whom a key stands for. It is asked before the tenant is known, so no policy
-- could let the service see the row: this one function runs as a role of its
-- own, which may read keys and nothing else, and tells of the one key whose
-- digest the caller has.
CREATE FUNCTION recollect.authenticate(p_digest bytea)
RETURNS TABLE (tenant_id text, name text, scopes text[])
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT k.tenant_id, k.name, k.scopes
    FROM recollect.api_keys k
    WHERE k.digest = p_digest
        AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
$$;

CREATE POLICY auth ON recollect.api_keys FOR SELECT TO recollect_auth USING (true);
GRANT SELECT (tenant_id, name, digest, scopes, expires_at) ON recollect.api_keys TO recollect_auth;

-- A new owner needs the right to create in the schema, for this moment alone.
GRANT CREATE ON SCHEMA recollect TO recollect_auth;
ALTER FUNCTION recollect.authenticate OWNER TO recollect_auth;
REVOKE CREATE ON SCHEMA recollect FROM recollect_auth;

REVOKE EXECUTE ON FUNCTION recollect.authenticate FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recollect.authenticate TO recollect_service;
