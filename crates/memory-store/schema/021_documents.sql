-- JSON documents of users and apps.
CREATE TABLE recollect.documents (
    tenant_id text NOT NULL,
    -- A digest of app and user, whose names would make the key too long.
    owner bytea NOT NULL,
    namespace text[] COLLATE "C" NOT NULL CHECK (cardinality(namespace) > 0),
    key text COLLATE "C" NOT NULL,
    app_id text NOT NULL,
    -- Empty: a document of the app, of no user.
    user_id text NOT NULL,
    value jsonb NOT NULL,
    -- Of the value as JSON text.
    size_bytes bigint NOT NULL,
    -- What queries match; null: no query matches it.
    text text,
    -- Of the text.
    words tsvector,
    -- Null: without end.
    ttl interval,
    expires_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner, namespace, key)
);

CREATE INDEX documents_by_owner ON recollect.documents (tenant_id, app_id, user_id);
CREATE INDEX documents_by_expiry ON recollect.documents (expires_at) WHERE expires_at IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.documents TO recollect_service;
CREATE POLICY worker ON recollect.documents FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, expires_at) ON recollect.documents TO recollect_worker;

-- Checkpoints of agents' runs.
CREATE TABLE recollect.checkpoints (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    checkpoint_id text COLLATE "C" NOT NULL,
    -- Empty: none.
    parent_id text NOT NULL,
    type text NOT NULL,
    -- Packed, as src/checkpoints/pack.rs does it.
    data bytea NOT NULL,
    -- Of data as it was sent.
    size_bytes bigint NOT NULL,
    metadata jsonb NOT NULL,
    -- The digests of its values.
    value_digests bytea[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id, namespace, checkpoint_id)
);

-- Values of channels, which several checkpoints share.
CREATE TABLE recollect.checkpoint_values (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- Of namespace, channel and version.
    digest bytea NOT NULL,
    channel text NOT NULL,
    version text NOT NULL,
    type text NOT NULL,
    -- Of the value as it was sent.
    size_bytes bigint NOT NULL,
    -- The packed value, or its beginning, which is followed by the chunks with these hashes.
    data bytea NOT NULL,
    chunks bytea[],
    PRIMARY KEY (tenant_id, thread_id, digest)
);

-- What tasks have written after a checkpoint.
CREATE TABLE recollect.checkpoint_writes (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    checkpoint_id text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    index integer NOT NULL,
    task_path text COLLATE "C" NOT NULL,
    channel text NOT NULL,
    type text NOT NULL,
    size_bytes bigint NOT NULL,
    data bytea NOT NULL,
    chunks bytea[],
    PRIMARY KEY (tenant_id, thread_id, namespace, checkpoint_id, task_id, index)
);

-- Chunks of large values, each once in its thread.
CREATE TABLE recollect.checkpoint_chunks (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- Of SHA-256 of the content, before it was packed, the first 16 bytes.
    hash bytea NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant_id, thread_id, hash)
);

-- The bytes are packed already.
ALTER TABLE recollect.checkpoints ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE recollect.checkpoint_values ALTER COLUMN data SET STORAGE EXTERNAL, ALTER COLUMN chunks SET STORAGE EXTERNAL;
ALTER TABLE recollect.checkpoint_writes ALTER COLUMN data SET STORAGE EXTERNAL, ALTER COLUMN chunks SET STORAGE EXTERNAL;
ALTER TABLE recollect.checkpoint_chunks ALTER COLUMN data SET STORAGE EXTERNAL;

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.checkpoints, recollect.checkpoint_writes TO recollect_service;
GRANT SELECT, INSERT, DELETE ON recollect.checkpoint_values, recollect.checkpoint_chunks TO recollect_service;
