-- Tenants: policies, the record of changes, files, API keys, secrets and usage.

-- The policy of each app: the fields that it sets.
CREATE TABLE recollect.app_policies (
    tenant_id text NOT NULL,
    app_id text NOT NULL,
    -- The order of creation.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    policy jsonb NOT NULL,
    -- The name of the space that the app shares with others.
    memory_space text GENERATED ALWAYS AS (policy ->> 'memory_space') STORED,
    -- The etag: each change replaces it.
    version uuid NOT NULL DEFAULT gen_random_uuid(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, app_id)
);

CREATE INDEX app_policies_by_ordinal ON recollect.app_policies (tenant_id, ordinal);
CREATE INDEX app_policies_by_space ON recollect.app_policies (tenant_id, memory_space, ordinal)
    WHERE memory_space IS NOT NULL;
CREATE INDEX app_policies_that_redact ON recollect.app_policies (tenant_id)
    WHERE policy ? 'redaction' OR policy ? 'redacted_kinds';

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.app_policies TO recollect_service;

-- The latest time that a change got its id from, about, in microseconds since 1970, and how much
-- later that is than the clock.
CREATE SEQUENCE recollect.change_times MINVALUE 0 START 0;
CREATE SEQUENCE recollect.change_lead MINVALUE 0 START 0;
GRANT SELECT, UPDATE ON SEQUENCE recollect.change_times, recollect.change_lead TO recollect_service;

-- The time, in microseconds since 1970, that a change made now gets its id from. It is later than
-- the clock as long as the clock is behind a time that was given before: who watches a thread
-- looks for changes with higher ids only.
--
-- A time is the clock plus the lead. The lead grows by as much as the clock is set back, and half
-- a second; it shrinks by a tenth of the time that passes, by the time without any change, and by
-- as much as the clock is set forward. The clock is read after what it is compared with, because
-- a process that waits for a processor in between would take its own delay for a clock that was
-- set back.
CREATE FUNCTION recollect.change_time()
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_lead bigint;
    v_latest bigint;
    v_clock bigint;
    v_time bigint;
BEGIN
    SELECT s.last_value INTO v_latest FROM recollect.change_times s;
    SELECT s.last_value INTO v_lead FROM recollect.change_lead s;
    v_clock := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    v_time := v_clock + v_lead;
    -- Written twice a second: no time that was given is later than half a second after it.
    IF v_time BETWEEN v_latest - 200000 AND v_latest + 500000 THEN
        RETURN v_time;
    END IF;
    v_time := GREATEST(v_clock, v_latest + CASE WHEN v_time > v_latest THEN 450000 ELSE 500000 END);
    -- Others may have been faster.
    SELECT GREATEST(v_time, s.last_value) INTO v_time FROM recollect.change_times s;
    PERFORM setval('recollect.change_lead',
            GREATEST(v_time - (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 0)),
        setval('recollect.change_times', v_time);
    RETURN v_time;
END;
$$;

-- The record of who did what, without content: one row for each change, written in the
-- change's own transaction, and one for equal rejections of a change.
CREATE SEQUENCE recollect.transaction_numbers;
CREATE TABLE recollect.transactions (
    tenant_id text NOT NULL,
    -- Ordered by time also across two databases: microseconds since 1970, and 8 bits that
    -- distinguish rows of the same microsecond. (The sequence caches no numbers: two
    -- connections with cached ones could be a multiple of 256 apart.)
    id bigint NOT NULL DEFAULT recollect.change_time() * 256 + nextval('recollect.transaction_numbers') % 256,
    -- The name of an API key, `anonymous` or `worker`.
    actor text NOT NULL,
    action text NOT NULL,
    thread_id uuid,
    -- The changed thing in the thread, or outside any thread: a name or an id.
    subject text NOT NULL DEFAULT '',
    item_count bigint NOT NULL DEFAULT 1,
    -- `ok`, or why it was rejected; item_count then counts the rejections.
    result text NOT NULL DEFAULT 'ok',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, id)
);

CREATE INDEX transactions_by_thread ON recollect.transactions (tenant_id, thread_id, id) WHERE thread_id IS NOT NULL;
CREATE INDEX transactions_by_actor ON recollect.transactions (tenant_id, actor, id);
CREATE INDEX transactions_by_age ON recollect.transactions USING brin (created_at);

-- Rows stay as they were written.
GRANT SELECT, INSERT ON recollect.transactions TO recollect_service;
GRANT USAGE ON SEQUENCE recollect.transaction_numbers TO recollect_service;
CREATE POLICY worker ON recollect.transactions TO recollect_worker USING (true);
GRANT SELECT (tenant_id, id, created_at), DELETE ON recollect.transactions TO recollect_worker;

-- Metadata of the files that messages refer to. The files themselves are stored elsewhere,
-- under their storage keys.
CREATE TABLE recollect.files (
    tenant_id text NOT NULL,
    -- SHA-256 of transfer method and reference: a URL may be too long for an index entry.
    digest bytea NOT NULL,
    -- The order of creation.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    transfer_method text NOT NULL CHECK (transfer_method IN ('local_file', 'remote_url', 'tool_file')),
    -- The id or the URL.
    reference text NOT NULL,
    type text NOT NULL CHECK (type IN ('image', 'audio', 'video', 'document', 'custom')),
    storage_key text NOT NULL,
    name text NOT NULL,
    mime_type text NOT NULL,
    -- 0: unknown.
    size_bytes bigint NOT NULL CHECK (size_bytes >= 0),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, digest)
);

CREATE INDEX files_by_ordinal ON recollect.files (tenant_id, ordinal);
CREATE INDEX files_by_method ON recollect.files (tenant_id, transfer_method, ordinal);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.files TO recollect_service;

-- API keys; only their SHA-256 is stored.
CREATE TABLE recollect.api_keys (
    tenant_id text NOT NULL,
    name text NOT NULL,
    -- The order of creation.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    -- The rights of the key.
    scopes text[] NOT NULL CHECK (
        cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'delete', 'admin']
    ),
    -- The apps and users that the key reaches: lists app_ids, app_id_prefixes, user_ids,
    -- user_id_prefixes. Null: the whole tenant.
    bounds jsonb,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Null: never.
    expires_at timestamptz,
    PRIMARY KEY (tenant_id, name)
);

-- Without the tenant, because the lookup finds the tenant.
CREATE UNIQUE INDEX api_keys_by_digest ON recollect.api_keys (digest);
CREATE INDEX api_keys_by_ordinal ON recollect.api_keys (tenant_id, ordinal);

-- A key is created and revoked, never changed, and the service cannot read its digest.
GRANT SELECT (tenant_id, name, ordinal, scopes, bounds, created_at, expires_at), INSERT, DELETE
    ON recollect.api_keys TO recollect_service;
-- The definer of the function that finds an API key by its digest.
CREATE POLICY auth ON recollect.api_keys FOR SELECT TO recollect_auth USING (true);
GRANT SELECT (tenant_id, name, digest, scopes, bounds, expires_at) ON recollect.api_keys TO recollect_auth;

-- Secrets of tenants: AES-256-GCM, with tenant and name as associated data, so that a row
-- cannot be decrypted under another tenant or name.
CREATE TABLE recollect.secrets (
    tenant_id text NOT NULL,
    name text COLLATE "C" NOT NULL,
    -- The id of the key in the server's configuration that encrypts it.
    key_id text NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    PRIMARY KEY (tenant_id, name)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.secrets TO recollect_service;

-- Usage of models: tokens spent, by day and model, and tokens reserved for requests of language
-- models under way.
CREATE TABLE recollect.model_usage (
    tenant_id text NOT NULL,
    -- In UTC.
    day date NOT NULL,
    -- The daily budget is that of language models alone.
    kind text NOT NULL CHECK (kind IN ('language', 'embedding')),
    model text NOT NULL,
    call_count bigint NOT NULL DEFAULT 0,
    failed_count bigint NOT NULL DEFAULT 0,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, day, kind, model)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.model_usage TO recollect_service;

-- The most that a request may cost, from before it is sent until its usage is known.
CREATE TABLE recollect.model_reservations (
    tenant_id text NOT NULL,
    reservation_id uuid NOT NULL,
    -- In UTC.
    day date NOT NULL,
    model text NOT NULL,
    input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
    output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
    -- From then on it counts as spent.
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, reservation_id)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.model_reservations TO recollect_service;
