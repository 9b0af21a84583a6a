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
    -- A kind of the app's policy at the time; empty: none.
    kind text NOT NULL,
    -- The values of that kind.
    attributes jsonb NOT NULL,
    event_time timestamptz,
    origin text NOT NULL CHECK (origin IN ('caller', 'working_memory', 'extracted')),
    -- The caller's id for it; empty: none.
    external_id text NOT NULL,
    -- The thread that it came from.
    thread_id uuid,
    -- SHA-256 of the normalized text.
    content_hash bytea NOT NULL,
    pinned boolean NOT NULL,
    -- It is true from valid_from until valid_until, as far as known; null: it holds. If both are
    -- equal, it was never true.
    valid_from timestamptz NOT NULL,
    valid_until timestamptz,
    -- It is believed from created_at until ended_at, when valid_until was recorded; null: it holds.
    ended_at timestamptz,
    superseded_by uuid,
    -- Whether an extracted summary ended only because the head of its thread left its path: it
    -- holds again when the head returns.
    left_path boolean NOT NULL DEFAULT false,
    -- What extracted it; empty: it was not extracted.
    made_by text NOT NULL,
    -- The strategy that extracted it; empty: it was not extracted, or this is unknown.
    strategy text NOT NULL CHECK (strategy IN ('', 'discrete', 'summary', 'preferences', 'custom')),
    -- Rises with each change.
    version bigint NOT NULL DEFAULT 1,
    -- When the index had stored its present version; null: not yet.
    persisted_at timestamptz,
    -- The day (UTC) on which it was last returned.
    last_used_on date,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, memory_id),
    CHECK (strategy = '' OR origin = 'extracted'),
    CHECK (kind <> '' OR attributes = '{}'),
    CHECK ((valid_until IS NULL) = (ended_at IS NULL))
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

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.memories TO recollect_service;
CREATE POLICY worker ON recollect.memories FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, app_id) ON recollect.memories TO recollect_worker;
-- The definer of the function that finds memories by words, which filters by the other columns.
CREATE POLICY search ON recollect.memories FOR SELECT TO recollect_search USING (true);
GRANT SELECT (tenant_id, app_id, user_id, memory_id, ordinal, words, type, topics, entities, metadata, kind, event_time, thread_id,
              origin, valid_from, valid_until, ended_at, created_at)
    ON recollect.memories TO recollect_search;

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

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.memory_sources TO recollect_service;

-- The memories that an extracted memory was built on: it may contain their words, so it is
-- erased with the first of them.
CREATE TABLE recollect.memory_ancestors (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    ancestor_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, ancestor_id)
);

CREATE INDEX memory_ancestors_by_ancestor ON recollect.memory_ancestors (tenant_id, ancestor_id);

GRANT SELECT, INSERT, DELETE ON recollect.memory_ancestors TO recollect_service;

-- The messages that the summaries among a thread's memories were made of (strategy SUMMARY): a row for
-- each extraction. A summary covers a path from its root on: it is the text of the summary
-- that it continues and of the messages of its range: on the path to (branch, to_depth), with
-- after_depth < depth ≤ to_depth. On a path the summary of the range that ends deepest
-- on it holds. The others end, with memories.left_path: they may hold again.
CREATE TABLE recollect.memory_ranges (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- The order of creation.
    number bigint GENERATED ALWAYS AS IDENTITY,
    -- The summary; it may be erased since. Null: nothing in the range was worth a summary, so
    -- the one before it still holds.
    memory_id uuid,
    -- The end: the place of a message, or 0 and 0 before the first message.
    branch integer NOT NULL,
    after_depth integer NOT NULL,
    to_depth integer NOT NULL,
    -- The ranges whose summaries it continues.
    based_on bigint[] NOT NULL,
    -- Of an imported summary: its range is taken from its sources, and it may contain any message
    -- up to this seq. Null: it contains only messages of its range and of the summaries that it
    -- continues.
    until_seq bigint,
    PRIMARY KEY (tenant_id, thread_id, number)
);

CREATE INDEX memory_ranges_by_memory ON recollect.memory_ranges (tenant_id, memory_id) WHERE memory_id IS NOT NULL;

GRANT SELECT, INSERT, DELETE ON recollect.memory_ranges TO recollect_service;

-- Messages to extract memories from once more, because a memory made of them was erased with
-- one that it was built on.
CREATE TABLE recollect.extract_again (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    message_id uuid NOT NULL,
    -- Whether the thread was queued for it.
    queued boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, thread_id, message_id)
);

CREATE INDEX extract_again_unqueued ON recollect.extract_again (tenant_id, thread_id) WHERE NOT queued;

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.extract_again TO recollect_service;
CREATE POLICY worker ON recollect.extract_again FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, thread_id, queued) ON recollect.extract_again TO recollect_worker;
