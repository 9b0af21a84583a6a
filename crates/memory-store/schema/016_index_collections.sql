-- The index's collections. Searches use the serving one. One more may receive the same
-- changes beside it: a new embedding model's while it is filled, or the former one's as long
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

ALTER TABLE recollect.outbox
    -- The number of the collection that the change is for.
    ADD COLUMN target integer NOT NULL DEFAULT 0,
    DROP CONSTRAINT outbox_pkey,
    ADD PRIMARY KEY (tenant_id, thread_id, target, id);
ALTER TABLE recollect.outbox ALTER COLUMN target SET DEFAULT recollect.serving_collection();

DROP INDEX recollect.outbox_by_turn;
CREATE INDEX outbox_by_turn ON recollect.outbox (target, bulk, tenant_id, id) WHERE dead_order IS NULL;
DROP INDEX recollect.outbox_by_user;
CREATE INDEX outbox_by_user ON recollect.outbox (tenant_id, user_queue, target, id) WHERE user_queue IS NOT NULL;
DROP INDEX recollect.outbox_by_app;
CREATE INDEX outbox_by_app ON recollect.outbox (tenant_id, app_id, target, id) WHERE app_id IS NOT NULL;

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
        -- Not only the one beside: they may have been switched since the row got its target.
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
