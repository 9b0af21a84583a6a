-- Threads, and whatever else, whose content is being erased in the background. A row is a
-- queue entry: workers erase a bounded number of rows at a time under its lease.
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
-- Those of users, apps and tenants, which are few. While one is unfinished, nothing is
-- created in what it erases.
CREATE INDEX erasures_of_owners ON recollect.erasures (tenant_id, created_at) WHERE kind <> 'thread';

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.erasures TO recollect_service;

CREATE POLICY worker ON recollect.erasures TO recollect_worker USING (true) WITH CHECK (true);
GRANT SELECT (tenant_id, erasure_id, kind, parent_id, step, attempts, available_at, lease_id, last_error, failing_since,
              created_at, finished_at),
    INSERT (tenant_id, erasure_id, kind, step),
    UPDATE (attempts, available_at, lease_id, last_error, failing_since),
    DELETE
    ON recollect.erasures TO recollect_worker;

-- The deletion of a tenant erases its totals.
GRANT DELETE ON recollect.ephemeral_totals TO recollect_service;
