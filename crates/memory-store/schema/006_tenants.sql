-- How each app remembers; what it does not say is left out.
CREATE TABLE recollect.app_policies (
    tenant_id text NOT NULL,
    app_id text NOT NULL,
    -- The order of creation.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    policy jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, app_id)
);

CREATE INDEX app_policies_by_ordinal ON recollect.app_policies (tenant_id, ordinal);

-- Who did what: one row for each change, written in the change's own
-- transaction, and one for equal refusals of a change. It never has content.
CREATE SEQUENCE recollect.transaction_numbers;

CREATE TABLE recollect.transactions (
    tenant_id text NOT NULL,
    -- The order of writing, also where the tenant's changes are in two
    -- databases: microseconds since 1970, and 8 bits that keep those of the
    -- same microsecond apart. (Numbers that a connection had taken in advance
    -- would not: two connections could be a multiple of 256 apart.)
    id bigint NOT NULL DEFAULT
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 256
        + nextval('recollect.transaction_numbers') % 256,
    -- The name of an API key, `anonymous` or `worker`.
    actor text NOT NULL,
    action text NOT NULL,
    thread_id uuid,
    -- What else it was done to: a name or an id.
    subject text NOT NULL DEFAULT '',
    item_count bigint NOT NULL DEFAULT 1,
    -- What came of it: `ok`, or why it was refused; item_count is how often then.
    result text NOT NULL DEFAULT 'ok',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, id)
);

CREATE INDEX transactions_by_thread ON recollect.transactions (tenant_id, thread_id, id) WHERE thread_id IS NOT NULL;
CREATE INDEX transactions_by_actor ON recollect.transactions (tenant_id, actor, id);
CREATE INDEX transactions_by_age ON recollect.transactions USING brin (created_at);

-- What is known of the files that messages refer to. The files themselves are
-- kept elsewhere, under their storage keys.
CREATE TABLE recollect.files (
    tenant_id text NOT NULL,
    -- SHA-256 of transfer method and reference: a URL may be longer than an
    -- index entry may be.
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
    -- 0 where it is not known.
    size_bytes bigint NOT NULL CHECK (size_bytes >= 0),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, digest)
);

CREATE INDEX files_by_ordinal ON recollect.files (tenant_id, ordinal);
CREATE INDEX files_by_method ON recollect.files (tenant_id, transfer_method, ordinal);

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

-- What language models cost: what was spent of it, by day and model, and what is
-- set aside for requests that are under way.

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

-- What a request may cost at most, from before it is made until it is known what
-- it did cost.
CREATE TABLE recollect.model_reservations (
    tenant_id text NOT NULL,
    reservation_id uuid NOT NULL,
    -- In UTC.
    day date NOT NULL,
    model text NOT NULL,
    input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
    output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
    -- Nobody will tell any more by then: it counts as spent.
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, reservation_id)
);
