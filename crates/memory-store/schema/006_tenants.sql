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

-- The record of who did what, without content: one row for each change, written in the
-- change's own transaction, and one for equal refusals of a change.
CREATE SEQUENCE recollect.transaction_numbers;

CREATE TABLE recollect.transactions (
    tenant_id text NOT NULL,
    -- Ordered by time also across two databases: microseconds since 1970, and 8 bits that
    -- distinguish rows of the same microsecond. (The sequence caches no numbers: two
    -- connections with cached ones could be a multiple of 256 apart.)
    id bigint NOT NULL DEFAULT
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 256
        + nextval('recollect.transaction_numbers') % 256,
    -- The name of an API key, `anonymous` or `worker`.
    actor text NOT NULL,
    action text NOT NULL,
    thread_id uuid,
    -- What was changed beside the thread: a name or an id.
    subject text NOT NULL DEFAULT '',
    item_count bigint NOT NULL DEFAULT 1,
    -- `ok`, or why it was refused; item_count then counts the refusals.
    result text NOT NULL DEFAULT 'ok',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, id)
);

CREATE INDEX transactions_by_thread ON recollect.transactions (tenant_id, thread_id, id) WHERE thread_id IS NOT NULL;
CREATE INDEX transactions_by_actor ON recollect.transactions (tenant_id, actor, id);
CREATE INDEX transactions_by_age ON recollect.transactions USING brin (created_at);

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

-- API keys; only their SHA-256 is stored.
CREATE TABLE recollect.api_keys (
    tenant_id text NOT NULL,
    name text NOT NULL,
    -- The order of creation.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    -- What the key may do.
    scopes text[] NOT NULL CHECK (
        cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'delete', 'admin']
    ),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Null: never.
    expires_at timestamptz,
    PRIMARY KEY (tenant_id, name)
);

-- Without the tenant, because the lookup finds the tenant.
CREATE UNIQUE INDEX api_keys_by_digest ON recollect.api_keys (digest);
CREATE INDEX api_keys_by_ordinal ON recollect.api_keys (tenant_id, ordinal);

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

-- Usage of language models: what was spent, by day and model, and what is reserved for
-- requests under way.

CREATE TABLE recollect.model_usage (
    tenant_id text NOT NULL,
    -- In UTC.
    day date NOT NULL,
    model text NOT NULL,
    call_count bigint NOT NULL DEFAULT 0,
    failed_count bigint NOT NULL DEFAULT 0,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, day, model)
);

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
