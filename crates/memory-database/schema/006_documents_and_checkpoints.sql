-- JSON documents of users and apps. They are found by their namespaces and by the values of
-- their fields through indexes. Under row-level security Postgres uses an index over texts, and
-- none over lists or JSON, whose comparisons are not leakproof.

-- The namespace of a document as one text, which sorts as the list of labels does: each label ends
-- with chr(1) twice, and a chr(1) in it is followed by chr(2).
CREATE FUNCTION recollect.document_path(p_namespace text[])
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT COALESCE(string_agg(replace(l.label, chr(1), chr(1) || chr(2)) || chr(1) || chr(1), '' ORDER BY l.place), '')
    FROM unnest(p_namespace) WITH ORDINALITY AS l (label, place)
$$;

-- The term that the index has for a field of an owner's document with this value; without a field,
-- for a document with any values.
CREATE FUNCTION recollect.document_term(p_owner bytea, p_field text, p_value jsonb)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hashtextextended(
        encode(p_owner, 'hex') || COALESCE(to_json(p_field)::text || CASE jsonb_typeof(p_value)
            -- 1 equals 1.0.
            WHEN 'number' THEN trim_scale((p_value #>> '{}')::numeric)::text ELSE p_value::text END, ''),
        0)
$$;

-- The terms of an owner's document: one for each field with a text, a number or a truth value.
-- A document with more than 64 such fields counts as one with any values. The body is parsed now,
-- so that Postgres knows that it calls document_term: a dump restores that function before the
-- table whose column is computed with it.
CREATE FUNCTION recollect.document_terms(p_owner bytea, p_value jsonb)
RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN count(*) > 64 THEN ARRAY[recollect.document_term(p_owner, NULL, NULL)]
        ELSE COALESCE(array_agg(recollect.document_term(p_owner, f.field, f.value)), '{}') END
    FROM (
        SELECT e.field, e.value
        FROM jsonb_each(p_value) AS e (field, value)
        WHERE jsonb_typeof(e.value) IN ('string', 'number', 'boolean')
        LIMIT 65
    ) AS f;
END;

CREATE TABLE recollect.documents (
    tenant_id text NOT NULL,
    -- A digest of app and user, whose names would make the key too long.
    owner bytea NOT NULL,
    namespace text[] COLLATE "C" NOT NULL CHECK (cardinality(namespace) > 0),
    path text COLLATE "C" NOT NULL GENERATED ALWAYS AS (recollect.document_path(namespace)) STORED,
    key text COLLATE "C" NOT NULL,
    app_id text NOT NULL,
    -- Empty: a document of the app, of no user.
    user_id text NOT NULL,
    value jsonb NOT NULL,
    terms bigint[] NOT NULL GENERATED ALWAYS AS (recollect.document_terms(owner, value)) STORED,
    -- Bytes of the value as JSON text.
    size_bytes bigint NOT NULL,
    -- The text that queries match; null: no query matches it.
    text text,
    -- Of that text.
    words tsvector,
    -- Null: without end.
    ttl interval,
    expires_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE INDEX documents_by_owner ON recollect.documents (tenant_id, app_id, user_id);
CREATE INDEX documents_by_expiry ON recollect.documents (expires_at) WHERE expires_at IS NOT NULL;
-- The index over time is for queries that say d.updated_at > '-infinity', which is true of all
-- documents. Before the table is analyzed, it would seem as good for a name as the primary key, and all
-- documents of an owner would be read for one.
CREATE INDEX documents_by_time ON recollect.documents (tenant_id, owner, updated_at)
    WHERE updated_at > '-infinity';
-- Without a list of pending entries, which each search would read.
CREATE INDEX documents_by_term ON recollect.documents USING gin (terms) WITH (fastupdate = off);
-- Last: of indexes that cost the same, as all do while the table is empty, Postgres uses the one
-- that was created last.
ALTER TABLE recollect.documents ADD PRIMARY KEY (tenant_id, owner, path, key);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.documents TO recollect_service;
CREATE POLICY worker ON recollect.documents FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, expires_at) ON recollect.documents TO recollect_worker;
-- The definer of the function that finds documents by the values of their fields.
CREATE POLICY search ON recollect.documents FOR SELECT TO recollect_search USING (true);
GRANT SELECT (tenant_id, app_id, user_id, owner, path, key, terms, expires_at, updated_at) ON recollect.documents TO recollect_search;

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

-- The bytes are packed already.
ALTER TABLE recollect.checkpoints ALTER COLUMN data SET STORAGE EXTERNAL;

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.checkpoints TO recollect_service;

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

-- The bytes are packed already.
ALTER TABLE recollect.checkpoint_values ALTER COLUMN data SET STORAGE EXTERNAL, ALTER COLUMN chunks SET STORAGE EXTERNAL;

GRANT SELECT, INSERT, DELETE ON recollect.checkpoint_values TO recollect_service;

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

-- The bytes are packed already.
ALTER TABLE recollect.checkpoint_writes ALTER COLUMN data SET STORAGE EXTERNAL, ALTER COLUMN chunks SET STORAGE EXTERNAL;

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.checkpoint_writes TO recollect_service;

-- Chunks of large values, each once in its thread.
CREATE TABLE recollect.checkpoint_chunks (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- The first 16 bytes of SHA-256 of the content before it was packed.
    hash bytea NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant_id, thread_id, hash)
);

-- The bytes are packed already.
ALTER TABLE recollect.checkpoint_chunks ALTER COLUMN data SET STORAGE EXTERNAL;

GRANT SELECT, INSERT, DELETE ON recollect.checkpoint_chunks TO recollect_service;
