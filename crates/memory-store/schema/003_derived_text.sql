-- Texts that stand for stretches of messages, and the threads that wait for
-- somebody to make them.
--
-- A stretch is the messages on the path to (branch, to_depth) that are deeper
-- than after_depth. A text holds on each path that its end lies on, and on no
-- other: so another branch has only what covers messages that it shares.
CREATE TABLE recollect.distillates (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('summary', 'observation')),
    -- The order of making, from 1 for each thread and kind.
    number bigint NOT NULL,
    -- The last message, which can be read; 0 and 0 before the first one.
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
    -- Of a summary: its text does not go on from that one's.
    own_text boolean NOT NULL DEFAULT false,
    -- Of a summary: the messages were taken out of the working memory, and the
    -- text does not come from them.
    sets_aside boolean NOT NULL DEFAULT false,
    -- Of an observation: it stands in the place of what it covers. Before, it is
    -- only ready to.
    active boolean NOT NULL DEFAULT true,
    -- Of a reflection: all that it stands for, reflections with what they stand
    -- for. It covers no message itself.
    reflects bigint[],
    -- The readable messages that it stands for.
    message_count bigint NOT NULL,
    message_tokens bigint NOT NULL,
    first_id uuid,
    last_id uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id, kind, number)
);

-- Threads that a worker is to look at. A row for each, however often it is
-- wanted.
CREATE TABLE recollect.distill_jobs (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- Rises when it is wanted again while somebody works on it.
    wanted bigint NOT NULL DEFAULT 1,
    attempts integer NOT NULL DEFAULT 0,
    -- Not to be claimed before; the end of the lease while there is one.
    available_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_id uuid,
    -- What kept the last try from succeeding, and since when none has.
    last_error text NOT NULL DEFAULT '',
    failing_since timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000
);

CREATE INDEX distill_jobs_by_time ON recollect.distill_jobs (available_at);

-- What a session has in mind beside its messages. A thread without a row has a
-- working memory all the same: the messages that no summary covers.
CREATE TABLE recollect.working_memories (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- The model that was named last; empty: none was.
    model text NOT NULL DEFAULT '',
    -- Its window in tokens; null where that is not known.
    context_window integer,
    -- Not jsonb: it comes back as it went in, and is never searched into.
    data json NOT NULL DEFAULT '{}',
    -- Another one after each change of data and records, drawn at random, so that
    -- one that was forgotten and made anew has none that somebody has seen.
    version uuid NOT NULL DEFAULT gen_random_uuid(),
    -- It had expired, and nobody has read it since.
    rebuilt boolean NOT NULL DEFAULT false,
    -- Null: never.
    expires_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id)
);

CREATE INDEX working_memories_by_expiry ON recollect.working_memories (expires_at)
    WHERE expires_at IS NOT NULL;

-- The memories that were put into it. Those that were erased since are not there
-- any more.
CREATE TABLE recollect.working_records (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- From 1.
    position integer NOT NULL,
    memory_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, thread_id, memory_id)
);
