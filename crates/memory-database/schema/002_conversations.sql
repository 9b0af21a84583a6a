-- Threads with their messages, the answers to retried appends, and the content of messages.
--
-- Every key starts with the tenant, so that the tables can be partitioned and
-- distributed by it. For the same reason there are no foreign keys: the
-- functions that erase keep the tables in step.

CREATE TABLE recollect.threads (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- The order of creation.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    app_id text NOT NULL,
    -- Empty: no user is known.
    user_id text NOT NULL,
    session_key text NOT NULL,
    -- SHA-256 of app, user and session key, which together may be too long for an index
    -- entry.
    session_digest bytea NOT NULL,
    title text NOT NULL,
    metadata jsonb NOT NULL,
    -- The lexemes by which text search finds the thread, its user and its app.
    scope tsvector NOT NULL,
    -- The last seq that was assigned. It never decreases.
    last_seq bigint NOT NULL DEFAULT 0,
    -- The head: the message appended last, or its nearest readable ancestor if it was deleted.
    head_id uuid,
    head_seq bigint NOT NULL DEFAULT 0,
    head_branch integer NOT NULL DEFAULT 0,
    head_depth integer NOT NULL DEFAULT 0,
    -- Tokens from the root to the head.
    path_tokens bigint NOT NULL DEFAULT 0,
    branch_count integer NOT NULL DEFAULT 0,
    message_count bigint NOT NULL DEFAULT 0,
    -- How often messages of the thread were changed: with last_seq, message_count and head_id it
    -- tells whether a known path is still the stored one.
    update_count bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The quarter of an hour of updated_at. It is indexed instead of updated_at, which
    -- every append changes.
    updated_quarter timestamp NOT NULL GENERATED ALWAYS AS
        (date_bin('15 minutes', updated_at AT TIME ZONE 'UTC', TIMESTAMP '2000-01-01')) STORED,
    -- The etag: each update of title, metadata, lifetime or policy replaces it.
    version uuid NOT NULL DEFAULT gen_random_uuid(),
    -- '-infinity' while the thread is hidden because it is erased or cleared in steps.
    expires_at timestamptz,
    -- How long an ephemeral thread lives after its last use; null for all others.
    -- Each use moves expires_at, at most to lifetime_end.
    idle_ttl interval,
    -- When an ephemeral thread ends even if it is in use; null: never.
    lifetime_end timestamptz,
    -- Bytes of the parts and metadata of an ephemeral thread's messages, and of its events.
    content_bytes bigint NOT NULL DEFAULT 0,
    -- Bytes of the thread's messages (parts and metadata), attempts, events and checkpoints, for
    -- the quota of its tenant. No index may use the column: every append changes it.
    stored_bytes bigint NOT NULL DEFAULT 0,
    -- The policy fields that the thread overrides.
    policy jsonb NOT NULL DEFAULT '{}',
    -- Each rises with each change of its kind of derived text and with each erasure: a
    -- commit made under an older one is rejected.
    summary_generation bigint NOT NULL DEFAULT 0,
    observation_generation bigint NOT NULL DEFAULT 0,
    -- Rises whenever facts were extracted from messages.
    extract_generation bigint NOT NULL DEFAULT 0,
    -- The last numbers that were assigned. They never decrease.
    last_summary bigint NOT NULL DEFAULT 0,
    last_observation bigint NOT NULL DEFAULT 0,
    -- Tokens from the root to the head at which the thread is queued for distilling again.
    distill_at bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, thread_id),
    UNIQUE (tenant_id, session_digest)
    -- Every append updates the row, and mostly no indexed column: room on the page
    -- keeps the update within it.
) WITH (fillfactor = 70);

CREATE INDEX threads_by_ordinal ON recollect.threads (tenant_id, ordinal);
CREATE INDEX threads_by_app ON recollect.threads (tenant_id, app_id, ordinal);
CREATE INDEX threads_by_user ON recollect.threads (tenant_id, app_id, user_id, ordinal);
CREATE INDEX threads_by_update ON recollect.threads (tenant_id, updated_quarter);
CREATE INDEX threads_by_app_update ON recollect.threads (tenant_id, app_id, updated_quarter);
CREATE INDEX threads_by_user_update ON recollect.threads (tenant_id, app_id, user_id, updated_quarter);
CREATE INDEX threads_by_expiry ON recollect.threads (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX threads_ephemeral ON recollect.threads (tenant_id) WHERE idle_ttl IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.threads TO recollect_service;
CREATE POLICY worker ON recollect.threads FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, thread_id, ordinal, expires_at, idle_ttl, content_bytes) ON recollect.threads TO recollect_worker;
-- Whose data a thread is.
CREATE POLICY search ON recollect.threads FOR SELECT TO recollect_search USING (true);
GRANT SELECT (tenant_id, thread_id, app_id, user_id) ON recollect.threads TO recollect_search;
-- A server that starts alone ends all ephemeral threads.
CREATE POLICY end_ephemeral ON recollect.threads FOR UPDATE TO recollect_worker USING (idle_ttl IS NOT NULL);
GRANT UPDATE (expires_at) ON recollect.threads TO recollect_worker;

-- The servers that run, or were killed lately.
CREATE TABLE recollect.servers (
    server_id uuid PRIMARY KEY,
    -- When it was last heard of.
    beat_at timestamptz NOT NULL DEFAULT clock_timestamp()
    -- Every server renews its row each second.
) WITH (fillfactor = 50);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.servers TO recollect_worker;

-- The totals of a tenant's ephemeral threads, kept by triggers
-- (functions/threads/count_ephemeral.sql), so that an append need not sum them up. Threads
-- that have expired count until they are erased.
CREATE TABLE recollect.ephemeral_totals (
    tenant_id text PRIMARY KEY,
    thread_count bigint NOT NULL,
    -- Sum of threads.content_bytes.
    content_bytes bigint NOT NULL
    -- Every append to an ephemeral thread updates the row.
) WITH (fillfactor = 50);

-- The deletion of a tenant erases its totals.
GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.ephemeral_totals TO recollect_service;

-- A maximal linear run of messages; a row is written when the branch starts.
CREATE TABLE recollect.branches (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    branch integer NOT NULL,
    -- Null for a branch that starts with a root.
    parent_branch integer,
    fork_id uuid,
    -- The depth of the message that it forks at; 0 for a root.
    fork_depth integer NOT NULL,
    -- Facts were extracted from the branch's messages up to this seq. On a path these are
    -- always the first ones.
    extract_seq bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, thread_id, branch)
);

-- The thread does not come second: without statistics Postgres would use this index for
-- lookups by primary key, and read all branches of the thread.
CREATE INDEX branches_by_parent ON recollect.branches (tenant_id, parent_branch, thread_id, fork_depth);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.branches TO recollect_service;

CREATE TABLE recollect.messages (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- The app and the user of the thread.
    app_id text NOT NULL,
    user_id text NOT NULL,
    seq bigint NOT NULL,
    message_id uuid NOT NULL,
    -- The caller's own id; null: none was given, or the message was deleted.
    external_id text,
    -- recollect.external_digest of that id. It stays when the message is deleted, so that
    -- the id is not used again.
    external_digest bytea,
    parent_id uuid,
    branch integer NOT NULL,
    -- Messages from the root to this one, itself included.
    depth integer NOT NULL,
    role text NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    name text NOT NULL,
    -- The user who said it, if the caller named one: only of role user. Empty: the thread's user.
    said_by text NOT NULL DEFAULT '' CHECK (said_by = '' OR role = 'user'),
    -- Not jsonb: parts are returned as they were sent and never searched, and text is
    -- cheaper to write and to read.
    parts json NOT NULL,
    metadata jsonb NOT NULL,
    tokens integer NOT NULL,
    -- Tokens from the root to this message when it was appended.
    path_tokens bigint NOT NULL,
    -- Bytes of parts and metadata; pages are limited by them.
    bytes integer NOT NULL,
    said_at timestamptz NOT NULL,
    appended_at timestamptz NOT NULL,
    -- No facts are extracted from it.
    imported boolean NOT NULL,
    words tsvector,
    -- A deleted message stays as an empty row: it keeps its seq and its place
    -- in the tree for the messages that follow it.
    deleted_at timestamptz,
    PRIMARY KEY (tenant_id, thread_id, seq),
    UNIQUE (tenant_id, message_id)
);

-- The path from a head to its root. A deleted message is not on it: where no message
-- follows it, the next message may take its place.
CREATE UNIQUE INDEX messages_by_path ON recollect.messages (tenant_id, thread_id, branch, depth)
    WHERE deleted_at IS NULL;
CREATE INDEX messages_deleted_by_path ON recollect.messages (tenant_id, thread_id, branch, depth)
    WHERE deleted_at IS NOT NULL;
-- The thread is part of the digest. As a column it would make Postgres prefer the primary
-- key, without statistics, and read all messages of the thread.
CREATE UNIQUE INDEX messages_by_external_id ON recollect.messages (tenant_id, external_digest)
    WHERE external_digest IS NOT NULL;
-- The messages of an app, and of a user, in the order in which they were said.
CREATE INDEX messages_by_app ON recollect.messages (tenant_id, app_id, said_at, message_id)
    WHERE deleted_at IS NULL;
CREATE INDEX messages_by_user ON recollect.messages (tenant_id, app_id, user_id, said_at, message_id)
    WHERE deleted_at IS NULL;
CREATE INDEX messages_by_words ON recollect.messages USING gin (words);
-- What a user said in threads of others, and the threads in which users are named.
CREATE INDEX messages_by_speaker ON recollect.messages (tenant_id, app_id, said_by, thread_id) WHERE said_by <> '';
CREATE INDEX messages_with_speaker ON recollect.messages (tenant_id, thread_id) WHERE said_by <> '';

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.messages TO recollect_service;
-- The definer of the function that finds messages by words.
CREATE POLICY search ON recollect.messages FOR SELECT TO recollect_search USING (true);
GRANT SELECT (tenant_id, thread_id, app_id, user_id, seq, message_id, role, name, said_by, metadata, said_at, words)
    ON recollect.messages TO recollect_search;

-- A message to append, without its parts and its words. Callers send an array of them as JSON, so
-- that a release may add a field while servers of another release are running. Parts and words
-- come in arrays of their own: as JSON within JSON they would be read three times.
CREATE TYPE recollect.new_message AS (
    message_id uuid,
    -- Whether the caller chose message_id.
    chosen boolean,
    -- The caller's own id; null: none was given.
    external_id text,
    -- Names the message that it follows, as recollect.named_message takes it. Empty: it is a
    -- root. Null: it follows the message before it, and the first one follows the head.
    parent text,
    role text,
    name text,
    -- Null: empty.
    said_by text,
    metadata jsonb,
    tokens integer,
    -- Null: the time of the append.
    said_at timestamptz
);

-- A message as callers read it.
CREATE TYPE recollect.message AS (
    message_id uuid,
    thread_id uuid,
    external_id text,
    parent_id uuid,
    seq bigint,
    branch integer,
    depth integer,
    role text,
    name text,
    said_by text,
    parts json,
    metadata jsonb,
    tokens integer,
    said_at timestamptz
);

-- The row of a message as callers read it. Postgres inlines it, so it reads only what it returns.
CREATE FUNCTION recollect.readable(m recollect.messages)
RETURNS recollect.message
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ROW(m.message_id, m.thread_id, m.external_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
        m.said_by, m.parts, m.metadata, m.tokens, m.said_at)::recollect.message
$$;

-- The first answer to each request id; retries get it again.
CREATE TABLE recollect.requests (
    tenant_id text NOT NULL,
    request_id uuid NOT NULL,
    thread_id uuid NOT NULL,
    content_hash bytea NOT NULL,
    message_ids uuid[] NOT NULL,
    first_seq bigint NOT NULL,
    branches integer[] NOT NULL,
    tokens integer[] NOT NULL,
    revision bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, request_id)
);

CREATE INDEX requests_by_thread ON recollect.requests (tenant_id, thread_id);
CREATE INDEX requests_by_age ON recollect.requests USING brin (created_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.requests TO recollect_service;
CREATE POLICY worker ON recollect.requests TO recollect_worker USING (true);
GRANT SELECT (tenant_id, request_id, created_at), DELETE ON recollect.requests TO recollect_worker;

-- Content that messages contain themselves, in `data:` URLs. It is in object storage, once
-- for each tenant; these tables say where, and what refers to it.
CREATE TABLE recollect.contents (
    tenant_id text NOT NULL,
    -- SHA-256 of the content.
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    -- Content that was erased and comes back has another key.
    object_key text NOT NULL,
    size_bytes bigint NOT NULL,
    -- Whether the object was written.
    stored boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, digest)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.contents TO recollect_service;

CREATE TABLE recollect.content_holders (
    tenant_id text NOT NULL,
    -- The message_id of a message; the thread_id of a node memory, `/` and its node_id; or a
    -- claim: a UUID that keeps the content until another holder adopts it.
    holder text NOT NULL,
    digest bytea NOT NULL,
    -- When it was last held, before the write of what refers to it.
    held_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Whether the holder is known to exist and to refer to the content.
    settled boolean NOT NULL DEFAULT false,
    -- Which attempt of a write holds content before it is written; null: several do. A rejected
    -- attempt erases what it alone held.
    held_by uuid,
    PRIMARY KEY (tenant_id, holder, digest)
);

CREATE INDEX content_holders_by_digest ON recollect.content_holders (tenant_id, digest);
CREATE INDEX content_holders_unsettled ON recollect.content_holders (tenant_id, held_at) WHERE NOT settled;

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.content_holders TO recollect_service;
CREATE POLICY worker ON recollect.content_holders FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, held_at, settled) ON recollect.content_holders TO recollect_worker;
