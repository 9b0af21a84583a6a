-- Texts that stand for ranges of messages.
--
-- A range is the messages on the path to (branch, to_depth) with
-- after_depth < depth ≤ to_depth. A text holds on each path that contains its end, and on
-- no other: another branch has only texts of messages that it shares.
CREATE TABLE recollect.distillates (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('summary', 'observation')),
    -- The order of creation, from 1 for each thread and kind.
    number bigint NOT NULL,
    -- The end: the place of a readable message, or 0 and 0 before the first message.
    branch integer NOT NULL,
    after_depth integer NOT NULL,
    to_depth integer NOT NULL,
    text text NOT NULL,
    -- Its size in tokens of `o200k_base`.
    tokens integer NOT NULL CHECK (tokens >= 0),
    -- `extractive`, a model, `caller` or `worker`.
    made_by text NOT NULL,
    -- Of a summary: the one that it follows. Null for the first one of a path.
    based_on bigint,
    -- Of a summary: its text does not continue that one's.
    own_text boolean NOT NULL DEFAULT false,
    -- Of a summary: the messages were set aside (taken out of the working memory), and the
    -- text was not made of them.
    sets_aside boolean NOT NULL DEFAULT false,
    -- Of an observation: it replaces the messages that it covers. Before, it is ready to.
    active boolean NOT NULL DEFAULT true,
    -- Of a reflection: the numbers of all observations and reflections that it stands for,
    -- directly or not. It covers no message itself.
    reflects bigint[],
    -- The readable messages that it stands for.
    message_count bigint NOT NULL,
    message_tokens bigint NOT NULL,
    first_id uuid,
    last_id uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id, kind, number)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.distillates TO recollect_service;

-- The working memory of a thread, without its messages. A thread without a row has a working
-- memory too: the messages that no summary covers.
CREATE TABLE recollect.working_memories (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- The model of the last request that named one; empty: none did.
    model text NOT NULL DEFAULT '',
    -- Its window in tokens; null: unknown.
    context_window integer,
    -- Not jsonb: it is returned as it was sent, and never searched.
    data json NOT NULL DEFAULT '{}',
    -- Changes with data and records. Random, so that a working memory that was deleted and
    -- created again never has a version that a caller has seen.
    version uuid NOT NULL DEFAULT gen_random_uuid(),
    -- It was rebuilt after it had expired, and was not put since.
    rebuilt boolean NOT NULL DEFAULT false,
    -- Null: never.
    expires_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id)
);

CREATE INDEX working_memories_by_expiry ON recollect.working_memories (expires_at)
    WHERE expires_at IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.working_memories TO recollect_service;
CREATE POLICY worker ON recollect.working_memories FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, thread_id, expires_at) ON recollect.working_memories TO recollect_worker;

-- The memories that were put into it, also the ones erased since.
CREATE TABLE recollect.working_records (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- From 1.
    position integer NOT NULL,
    memory_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, thread_id, memory_id)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.working_records TO recollect_service;
