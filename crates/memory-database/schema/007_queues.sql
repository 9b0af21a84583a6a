-- Queues: changes for the index, threads to distill, erasures, and objects to erase.

-- The index's collections. Searches use the serving one. One more may receive the same
-- changes: a new embedding model's while it is filled, or the former one's as long
-- as it can serve again.
CREATE TABLE recollect.index_collections (
    -- Names it in the outbox. One that is opened again has a new number.
    number integer PRIMARY KEY,
    collection text NOT NULL,
    -- Only the first two receive changes. An abandoned one is outdated; a retired one is about
    -- to be removed.
    state text NOT NULL CHECK (state IN ('serving', 'beside', 'abandoned', 'retired')),
    -- Whether points that an earlier collection of this name left are removed.
    emptied boolean NOT NULL DEFAULT false,
    -- When everything stored had been queued for it; null: not yet.
    queued_at timestamptz,
    -- When a worker that writes to it was last known to run.
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- One worker empties or removes it, and has until then.
    leased_until timestamptz NOT NULL DEFAULT '-infinity'
);

CREATE UNIQUE INDEX index_collections_by_state ON recollect.index_collections (state)
    WHERE state IN ('serving', 'beside');
CREATE SEQUENCE recollect.index_collection_numbers;

GRANT SELECT ON recollect.index_collections TO recollect_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.index_collections TO recollect_worker;
GRANT USAGE ON SEQUENCE recollect.index_collection_numbers TO recollect_worker;

-- The number of the serving collection. Changes before the first one is recorded have 0, its
-- number.
CREATE FUNCTION recollect.serving_collection()
RETURNS integer
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN COALESCE((SELECT c.number FROM recollect.index_collections c WHERE c.state = 'serving'), 0);
END;
$$;

-- Changes that are not yet in the index. Workers claim changes of each tenant in turn.
CREATE TABLE recollect.outbox (
    id bigint GENERATED ALWAYS AS IDENTITY,
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- Null for a purge.
    message_id uuid,
    -- The message's seq; a purge removes all messages up to it.
    seq bigint NOT NULL,
    op text NOT NULL CHECK (op IN ('upsert', 'delete', 'purge')),
    attempts integer NOT NULL DEFAULT 0,
    -- Not to be claimed before; the end of the lease while there is one.
    available_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_id uuid,
    last_error text,
    -- When it became a dead letter, and the order among dead letters.
    dead_at timestamptz,
    dead_order bigint,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Whether message_id names a message or a memory. For a memory, thread_id is the queue of its user
    -- (see memories/queue.sql).
    kind text NOT NULL DEFAULT 'message' CHECK (kind IN ('message', 'memory')),
    -- For an upsert: the app, and for a message also the queue of its user. Null for all other
    -- changes, and once a newer change writes the same (see outbox/supersede.sql).
    app_id text,
    user_queue uuid,
    -- Whether the change came from an import, or indexes stored content again.
    -- Workers claim such changes after all others.
    bulk boolean NOT NULL DEFAULT false,
    -- The number of the collection that the change is for.
    target integer NOT NULL DEFAULT recollect.serving_collection(),
    CHECK ((message_id IS NULL) = (op = 'purge'))
    -- A queue: rows live briefly, so vacuum has to come often.
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE SEQUENCE recollect.dead_letters;
-- Of indexes that cost the same, as all do while the table is empty, Postgres uses the one that was
-- created last: searches by user or app must not use the first ones.
CREATE INDEX outbox_live ON recollect.outbox (id) WHERE dead_at IS NULL;
CREATE INDEX outbox_dead ON recollect.outbox (tenant_id, dead_order) WHERE dead_at IS NOT NULL;
ALTER TABLE recollect.outbox ADD PRIMARY KEY (tenant_id, thread_id, target, id);
CREATE INDEX outbox_by_turn ON recollect.outbox (target, bulk, tenant_id, id) WHERE dead_order IS NULL;
-- Searches read the newest waiting messages of a user or an app, and the newest waiting memories
-- of an app, however long the queue is (outbox/unindexed.sql): neither kind may hold up the other.
-- Neither index serves the other's searches: without statistics Postgres might use the one over
-- apps for a user.
CREATE INDEX outbox_by_user ON recollect.outbox (tenant_id, user_queue, target, id) WHERE user_queue IS NOT NULL;
CREATE INDEX outbox_by_app ON recollect.outbox (tenant_id, app_id, kind, target, id) WHERE app_id IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.outbox TO recollect_service;
CREATE POLICY worker ON recollect.outbox TO recollect_worker USING (true);
GRANT SELECT, UPDATE, DELETE ON recollect.outbox TO recollect_worker;
GRANT USAGE ON SEQUENCE recollect.dead_letters TO recollect_worker;

-- Queues each change, with the same id, for the other collection too, if there is one.
CREATE FUNCTION recollect.queue_beside()
RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM recollect.index_collections c WHERE c.state = 'beside') THEN
        INSERT INTO recollect.outbox (id, tenant_id, thread_id, message_id, seq, op, kind, app_id, user_queue, bulk, target)
        OVERRIDING SYSTEM VALUE
        SELECT q.id, q.tenant_id, q.thread_id, q.message_id, q.seq, q.op, q.kind, q.app_id, q.user_queue, q.bulk, c.number
        FROM queued q
        -- Not only the second collection: the two may have been switched since the row got its target.
        JOIN recollect.index_collections c ON c.number <> q.target AND c.state IN ('serving', 'beside');
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER queue_beside AFTER INSERT ON recollect.outbox
    REFERENCING NEW TABLE AS queued
    FOR EACH STATEMENT
    -- Statements that fill one collection set this.
    WHEN (pg_trigger_depth() = 0 AND current_setting('recollect.one_collection', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION recollect.queue_beside();

-- Threads that a worker is to distill: one row each, however often it was requested.
CREATE TABLE recollect.distill_jobs (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- Rises when distilling is requested again while a worker has the lease.
    wanted bigint NOT NULL DEFAULT 1,
    attempts integer NOT NULL DEFAULT 0,
    -- Not to be claimed before; the end of the lease while there is one.
    available_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_id uuid,
    -- Why the last attempt failed, and since when all have.
    last_error text NOT NULL DEFAULT '',
    failing_since timestamptz,
    -- Whether only an import requested it.
    bulk boolean NOT NULL DEFAULT false,
    -- Facts are extracted from the messages up to this seq without waiting until the thread is
    -- quiet.
    extract_to bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000
);

CREATE INDEX distill_jobs_by_time ON recollect.distill_jobs (available_at);
CREATE INDEX distill_jobs_by_turn ON recollect.distill_jobs (bulk, tenant_id, available_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.distill_jobs TO recollect_service;
CREATE POLICY worker ON recollect.distill_jobs TO recollect_worker USING (true);
GRANT SELECT, UPDATE ON recollect.distill_jobs TO recollect_worker;

-- Threads, users, apps and tenants whose content is being erased in the background. Workers erase
-- a bounded number of rows at a time under a row's lease.
CREATE TABLE recollect.erasures (
    tenant_id text NOT NULL,
    -- Of a thread: its thread_id.
    erasure_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('thread', 'user', 'app', 'tenant')),
    -- The erasure of a user, an app or a tenant that the thread is a part of.
    parent_id uuid,
    -- The user or the app that is erased.
    app_id text,
    user_id text,
    -- Who asked for it: the name of an API key, `anonymous` or `worker`.
    actor text NOT NULL DEFAULT 'worker',
    -- What to do next (functions/erasures/).
    step text NOT NULL,
    -- Of a thread: its messages up to this seq are erased. Of others, while threads are ended:
    -- those up to this ordinal are. Null: none is.
    erased_seq bigint,
    -- The newest change for the index, and the newest object to erase, that it waits for.
    awaited_change bigint,
    awaited_object bigint,
    -- Of a thread that is cleared in steps (step `clear`), and hidden meanwhile: when it expires
    -- by itself; null: never.
    kept_expiry timestamptz,
    -- Whether the files of the database were written anew afterwards.
    storage_rewritten boolean NOT NULL DEFAULT false,
    -- Rows erased so far, by table.
    counts jsonb NOT NULL DEFAULT '{}',
    -- Claims since the last step that succeeded.
    attempts integer NOT NULL DEFAULT 0,
    -- Not to be claimed before; the end of the lease while there is one.
    available_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_id uuid,
    -- Why the last attempt failed, and since when all have.
    last_error text NOT NULL DEFAULT '',
    failing_since timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Null: not yet. A thread that is no part of another erasure leaves no row.
    finished_at timestamptz,
    PRIMARY KEY (tenant_id, erasure_id)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000
);

CREATE INDEX erasures_by_time ON recollect.erasures (available_at) WHERE finished_at IS NULL;
CREATE INDEX erasures_by_parent ON recollect.erasures (tenant_id, parent_id) WHERE parent_id IS NOT NULL;
-- Erasures of users, apps and tenants, which are few. While one is unfinished, nothing is
-- created in its user, app or tenant.
CREATE INDEX erasures_of_owners ON recollect.erasures (tenant_id, created_at) WHERE kind <> 'thread';

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.erasures TO recollect_service;
CREATE POLICY worker ON recollect.erasures TO recollect_worker USING (true) WITH CHECK (true);
GRANT SELECT (tenant_id, erasure_id, kind, parent_id, step, attempts, available_at, lease_id, last_error, failing_since,
              created_at, finished_at, ctid),
    INSERT (tenant_id, erasure_id, kind, step),
    UPDATE (attempts, available_at, lease_id, last_error, failing_since),
    DELETE
    ON recollect.erasures TO recollect_worker;

-- Objects to erase, which are no longer reachable.
CREATE TABLE recollect.object_deletions (
    tenant_id text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    thread_id uuid NOT NULL,
    node_id text NOT NULL,
    object_key text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    last_error text NOT NULL DEFAULT '',
    -- Not to be claimed before; the end of the lease while there is one.
    available_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, id)
);

CREATE INDEX object_deletions_by_time ON recollect.object_deletions (available_at);
CREATE INDEX object_deletions_by_node ON recollect.object_deletions (tenant_id, thread_id, node_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.object_deletions TO recollect_service;
CREATE POLICY worker ON recollect.object_deletions TO recollect_worker USING (true);
GRANT SELECT, UPDATE ON recollect.object_deletions TO recollect_worker;

-- Writes to object storage that may be under way. Each is recorded before it begins, and
-- removed once the store has answered. One without an answer may still be carried out, so the
-- deletion of its object is repeated until that time has passed.
CREATE TABLE recollect.object_writes (
    tenant_id text NOT NULL,
    object_key text NOT NULL,
    write_id uuid NOT NULL,
    began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, object_key, write_id)
);

CREATE INDEX object_writes_by_time ON recollect.object_writes (began_at);

GRANT SELECT, INSERT, DELETE ON recollect.object_writes TO recollect_service;
CREATE POLICY worker ON recollect.object_writes TO recollect_worker USING (true);
GRANT SELECT, DELETE ON recollect.object_writes TO recollect_worker;
