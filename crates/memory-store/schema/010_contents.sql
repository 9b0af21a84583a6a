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
    -- When it was last held, before the write of what holds it.
    held_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Whether a worker has seen since then that its holders exist.
    settled boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, digest)
);

CREATE INDEX contents_unsettled ON recollect.contents (held_at) WHERE NOT settled;

CREATE TABLE recollect.content_holders (
    tenant_id text NOT NULL,
    -- The message_id of a message, or the thread_id of a node memory, `/` and its node_id.
    holder text NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (tenant_id, holder, digest)
);

CREATE INDEX content_holders_by_digest ON recollect.content_holders (tenant_id, digest);

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.contents, recollect.content_holders TO recollect_service;

CREATE POLICY worker ON recollect.contents FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, held_at, settled) ON recollect.contents TO recollect_worker;
