-- Long-term memories: facts about a user that outlive a session.
CREATE TABLE recollect.memories (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    -- The order of creation.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    app_id text NOT NULL,
    -- Empty: the app's own memory, of no user.
    user_id text NOT NULL,
    text text NOT NULL,
    -- Of text, topics and entities, with the lexeme of app and user.
    words tsvector NOT NULL,
    type text NOT NULL CHECK (type IN ('semantic', 'episodic')),
    topics text[] NOT NULL,
    entities text[] NOT NULL,
    metadata jsonb NOT NULL,
    event_time timestamptz,
    origin text NOT NULL CHECK (origin IN ('caller', 'working_memory', 'extracted')),
    -- The caller's id for it; empty: none.
    external_id text NOT NULL,
    -- The thread that it came from.
    thread_id uuid,
    -- SHA-256 of the normalized text.
    content_hash bytea NOT NULL,
    pinned boolean NOT NULL,
    valid_from timestamptz NOT NULL,
    -- When another memory superseded it; null: it holds.
    valid_until timestamptz,
    superseded_by uuid,
    -- What extracted it; empty: it was not extracted.
    made_by text NOT NULL,
    -- The strategy that extracted it; empty: it was not extracted, or this is unknown.
    strategy text NOT NULL CHECK (strategy IN ('', 'discrete', 'summary', 'preferences', 'custom')),
    -- Rises with each change.
    version bigint NOT NULL DEFAULT 1,
    -- When the index had stored it as it is; null: not yet.
    persisted_at timestamptz,
    -- The day (UTC) on which it was last returned.
    last_used_on date,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, memory_id),
    CHECK (strategy = '' OR origin = 'extracted')
) WITH (fillfactor = 80);

CREATE INDEX memories_by_owner ON recollect.memories (tenant_id, app_id, user_id, ordinal);
CREATE INDEX memories_by_app ON recollect.memories (tenant_id, app_id, ordinal);
CREATE INDEX memories_by_ordinal ON recollect.memories (tenant_id, ordinal);
-- Among the memories that hold, a user has each text and each record once.
CREATE UNIQUE INDEX memories_by_content ON recollect.memories (tenant_id, app_id, user_id, content_hash)
    WHERE valid_until IS NULL;
CREATE UNIQUE INDEX memories_by_record ON recollect.memories (tenant_id, app_id, user_id, external_id)
    WHERE valid_until IS NULL AND external_id <> '';
CREATE INDEX memories_by_successor ON recollect.memories (tenant_id, superseded_by)
    WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_by_thread ON recollect.memories (tenant_id, thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX memories_by_words ON recollect.memories USING gin (words);

-- The messages that memories were made of, as long as they are readable.
CREATE TABLE recollect.memory_sources (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    message_id uuid NOT NULL,
    thread_id uuid NOT NULL,
    -- The order in which they were named.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (tenant_id, memory_id, message_id)
);

CREATE INDEX memory_sources_by_message ON recollect.memory_sources (tenant_id, thread_id, message_id);
