-- Subscriptions: which changes are delivered to which systems, and the events that wait.

CREATE TABLE recollect.subscriptions (
    tenant_id text NOT NULL,
    name text COLLATE "C" NOT NULL,
    -- Names its events: a later subscription of the same name gets none of them.
    number bigint GENERATED ALWAYS AS IDENTITY,
    -- Only changes of this app, and of this user; empty: of all.
    app_id text NOT NULL,
    user_id text NOT NULL,
    -- Only changes of these kinds; empty: of all.
    actions text[] NOT NULL,
    -- Where a worker sends the events; empty: they are only streamed.
    url text NOT NULL,
    pushes boolean NOT NULL GENERATED ALWAYS AS (url <> '') STORED,
    -- While false, changes make no events, and none are sent.
    enabled boolean NOT NULL DEFAULT true,
    -- The secret that signs what is sent, encrypted as recollect.secrets are; null without a URL. The
    -- former one signs too, until its time.
    key_id text,
    nonce bytea,
    ciphertext bytea,
    former_key_id text,
    former_nonce bytea,
    former_ciphertext bytea,
    former_until timestamptz,
    -- The events that are being delivered, the same until they are acknowledged, and dropped_count
    -- when they were chosen.
    batch_id uuid,
    batch bigint[] NOT NULL DEFAULT '{}',
    batch_dropped bigint NOT NULL DEFAULT 0,
    -- Events acknowledged, events dropped, and how many of these were reported to the receiver.
    delivered_count bigint NOT NULL DEFAULT 0,
    dropped_count bigint NOT NULL DEFAULT 0,
    reported_count bigint NOT NULL DEFAULT 0,
    -- Failed attempts since the last that succeeded.
    attempts integer NOT NULL DEFAULT 0,
    -- The end of the lease while there is one, else that of the last one: the next turn is that of the
    -- subscription that has waited longest.
    available_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_id uuid,
    -- A worker does not send before, after a failure. A stream may read, and does not shorten it.
    retry_at timestamptz,
    -- Why the last attempt failed, and when; empty: it succeeded.
    last_error text NOT NULL DEFAULT '',
    failed_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, name)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000
);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.subscriptions TO recollect_service;
CREATE POLICY worker ON recollect.subscriptions TO recollect_worker USING (true);
GRANT SELECT (tenant_id, name, number, pushes, enabled, batch, dropped_count, available_at, lease_id, retry_at, ctid),
    UPDATE (dropped_count, available_at, lease_id, retry_at)
    ON recollect.subscriptions TO recollect_worker;

-- Changes that a subscription has yet to deliver, without content. Each is written in the change's
-- own transaction. Changes of a thread are made under its lock, and those of memories, which may name
-- the thread that they came from, under that of their user: of changes under one lock, the ids are in
-- the order of the commits. Changes under different locks that are made at the same time may become
-- visible in another order than that of their ids: readers take what they see, and delete what was
-- acknowledged, never all up to an id.
CREATE TABLE recollect.subscription_events (
    tenant_id text NOT NULL,
    -- The number of the subscription.
    subscription bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    actor text NOT NULL,
    action text NOT NULL,
    thread_id uuid,
    -- Whose data was changed; empty: that of no one app, or of no one user.
    app_id text NOT NULL,
    user_id text NOT NULL,
    subject text NOT NULL,
    item_count bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, subscription, id)
    -- A queue: rows live briefly, so vacuum has to come often.
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

GRANT SELECT, INSERT, DELETE ON recollect.subscription_events TO recollect_service;
CREATE POLICY worker ON recollect.subscription_events TO recollect_worker USING (true);
GRANT SELECT (tenant_id, subscription, id, created_at), DELETE ON recollect.subscription_events TO recollect_worker;
