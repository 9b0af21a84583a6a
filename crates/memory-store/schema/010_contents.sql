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
    PRIMARY KEY (tenant_id, digest)
);

CREATE TABLE recollect.content_holders (
    tenant_id text NOT NULL,
    -- The message_id of a message; the thread_id of a node memory, `/` and its node_id; or a
    -- claim: a UUID that keeps the content until another holder adopts it.
    holder text NOT NULL,
    digest bytea NOT NULL,
    -- When it was last held, before the write of what refers to it.
    held_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Whether the holder is known to exist and to refer to the content.
    settled boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, holder, digest)
);

CREATE INDEX content_holders_by_digest ON recollect.content_holders (tenant_id, digest);
CREATE INDEX content_holders_unsettled ON recollect.content_holders (tenant_id, held_at) WHERE NOT settled;

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.contents, recollect.content_holders TO recollect_service;

CREATE POLICY worker ON recollect.content_holders FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, held_at, settled) ON recollect.content_holders TO recollect_worker;
