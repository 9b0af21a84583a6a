-- Memories of nodes. Their messages are in object storage; these tables have the turns
-- that wait to be merged into an object, and the values that are needed without reading it.
CREATE TABLE recollect.node_memories (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    node_id text NOT NULL,
    -- The order of first use. A memory that is used again after it was cleared gets
    -- another one.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    object_key text NOT NULL,
    -- Whether the object under the key belongs to this memory. Otherwise it is stale.
    has_object boolean NOT NULL DEFAULT false,
    -- The object's version after the last write.
    etag text NOT NULL DEFAULT '',
    -- Bytes of the object's JSON before compression.
    size_bytes bigint NOT NULL DEFAULT 0,
    message_count bigint NOT NULL DEFAULT 0,
    waiting_count bigint NOT NULL DEFAULT 0,
    waiting_bytes bigint NOT NULL DEFAULT 0,
    -- When the oldest waiting turn was added.
    waiting_since timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    flushed_at timestamptz,
    expires_at timestamptz,
    -- Why the last flush failed, and how many have in a row.
    last_error text NOT NULL DEFAULT '',
    failed_at timestamptz,
    failures integer NOT NULL DEFAULT 0,
    -- When a worker tries again.
    retry_at timestamptz,
    PRIMARY KEY (tenant_id, thread_id, node_id)
) WITH (fillfactor = 70);

CREATE INDEX node_memories_by_ordinal ON recollect.node_memories (tenant_id, thread_id, ordinal);
CREATE INDEX node_memories_waiting ON recollect.node_memories (waiting_since) WHERE waiting_since IS NOT NULL;
CREATE INDEX node_memories_by_retry ON recollect.node_memories (retry_at) WHERE retry_at IS NOT NULL;
CREATE INDEX node_memories_by_expiry ON recollect.node_memories (expires_at) WHERE expires_at IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.node_memories TO recollect_service;
CREATE POLICY worker ON recollect.node_memories FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, thread_id, node_id, waiting_count, waiting_since, expires_at, failures, retry_at)
    ON recollect.node_memories TO recollect_worker;
-- After the clock was set back (functions/queues/make_due.sql).
CREATE POLICY make_due ON recollect.node_memories FOR UPDATE TO recollect_worker USING (true);
GRANT SELECT (ctid), UPDATE (waiting_since, retry_at) ON recollect.node_memories TO recollect_worker;

-- Turns that are not in an object yet.
CREATE TABLE recollect.node_turns (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    node_id text NOT NULL,
    -- The order of adding, within the node.
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- The parent of the user's message; null at a root.
    parent_id text,
    -- The message of the thread that the turn belongs to, as a UUID or as its caller named
    -- it; null before the first message.
    thread_message_id text,
    -- Both messages.
    messages json NOT NULL,
    bytes integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id, node_id, id)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000
);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.node_turns TO recollect_service;

-- The ids of all messages of a node's memory, without content.
CREATE TABLE recollect.node_messages (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    node_id text NOT NULL,
    message_id text NOT NULL,
    parent_id text,
    role text NOT NULL,
    -- The order of adding, within the node.
    added bigint GENERATED ALWAYS AS IDENTITY,
    -- The id of a message of the thread that may be appended later: the message belongs to
    -- that one then. Also as a UUID, where it is one.
    late_name text,
    late_id uuid,
    -- Of the assistant's message: the message of the thread that the turn belongs to. Depth 0
    -- is the place before the first message, which every path begins with. Null while a
    -- late_name alone says it.
    place_seq bigint,
    place_branch integer,
    place_depth integer,
    -- Whether that message awaits an answer, as messages of users and tools do. The turn
    -- belongs to one answer then: to the one with child_seq, or else to the first that was
    -- appended after after_seq.
    place_open boolean,
    child_seq bigint,
    after_seq bigint,
    PRIMARY KEY (tenant_id, thread_id, node_id, message_id)
);

CREATE INDEX node_messages_by_place ON recollect.node_messages (tenant_id, thread_id, node_id, place_seq, added)
    WHERE place_seq IS NOT NULL;
CREATE INDEX node_messages_by_late_name ON recollect.node_messages (tenant_id, thread_id, node_id, late_name)
    WHERE late_name IS NOT NULL;
CREATE INDEX node_messages_by_parent ON recollect.node_messages (tenant_id, thread_id, node_id, parent_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.node_messages TO recollect_service;

-- The first answer to each request id; retries get it again.
CREATE TABLE recollect.node_requests (
    tenant_id text NOT NULL,
    request_id uuid NOT NULL,
    thread_id uuid NOT NULL,
    node_id text NOT NULL,
    content_hash bytea NOT NULL,
    user_message_id text NOT NULL,
    assistant_message_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, request_id)
);

CREATE INDEX node_requests_by_node ON recollect.node_requests (tenant_id, thread_id, node_id);
CREATE INDEX node_requests_by_age ON recollect.node_requests USING brin (created_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.node_requests TO recollect_service;
CREATE POLICY worker ON recollect.node_requests TO recollect_worker USING (true);
GRANT SELECT (tenant_id, request_id, created_at), DELETE ON recollect.node_requests TO recollect_worker;

-- Copies of objects that could not be read.
CREATE TABLE recollect.node_copies (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    node_id text NOT NULL,
    object_key text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id, node_id, object_key)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.node_copies TO recollect_service;

-- The plan of a thread's agents, and the logs of their attempts and events. Changes wait at
-- the thread's row, as appends do.
CREATE TABLE recollect.plans (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- The plan's etag. Random, so that a plan that was deleted and created again never has
    -- one that a caller has seen.
    version uuid NOT NULL DEFAULT gen_random_uuid(),
    goal text NOT NULL,
    current_phase text NOT NULL,
    iteration_count integer NOT NULL CHECK (iteration_count >= 0),
    -- In order; each has step_id, title, status and result.
    steps jsonb NOT NULL,
    -- Not jsonb: it is returned as it was sent, and never searched.
    data json NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, thread_id)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.plans TO recollect_service;

-- Attempts and events stay as they were written.
CREATE TABLE recollect.attempts (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- From 1, without gaps.
    number bigint NOT NULL,
    task text NOT NULL,
    -- From 1 within the task, without gaps.
    task_number integer NOT NULL,
    action text NOT NULL,
    result text NOT NULL,
    -- Empty: it succeeded.
    error text NOT NULL,
    diagnosis text NOT NULL,
    fix text NOT NULL,
    -- Bytes of all texts; pages are limited by them.
    bytes integer NOT NULL,
    -- The request id that it was sent with.
    request_id uuid,
    content_hash bytea,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id, number)
);

CREATE INDEX attempts_by_task ON recollect.attempts (tenant_id, thread_id, task, task_number);
CREATE UNIQUE INDEX attempts_by_request ON recollect.attempts (tenant_id, request_id)
    WHERE request_id IS NOT NULL;

GRANT SELECT, INSERT, DELETE ON recollect.attempts TO recollect_service;

CREATE TABLE recollect.agent_events (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- From 1, without gaps.
    number bigint NOT NULL,
    type text NOT NULL,
    -- JSON, or empty. Text: it is returned as it was sent, and never searched.
    data text NOT NULL,
    -- The name of the message that it belongs to; may be empty.
    message_name text NOT NULL,
    happened_at timestamptz NOT NULL,
    -- Bytes of type and data; pages are limited by them.
    bytes integer NOT NULL,
    -- On the first event of a request: the request id, and how many events it had.
    request_id uuid,
    content_hash bytea,
    request_count integer,
    PRIMARY KEY (tenant_id, thread_id, number)
);

CREATE INDEX agent_events_by_message ON recollect.agent_events (tenant_id, thread_id, message_name, number)
    WHERE message_name <> '';
CREATE UNIQUE INDEX agent_events_by_request ON recollect.agent_events (tenant_id, request_id)
    WHERE request_id IS NOT NULL;

GRANT SELECT, INSERT, DELETE ON recollect.agent_events TO recollect_service;
