-- What is known of the files that messages refer to. The files themselves are
-- kept elsewhere, under their storage keys.
CREATE TABLE recollect.files (
    tenant_id text NOT NULL,
    -- SHA-256 of transfer method and reference: a URL may be longer than an
    -- index entry may be.
    digest bytea NOT NULL,
    -- The order of creation.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    transfer_method text NOT NULL CHECK (transfer_method IN ('local_file', 'remote_url', 'tool_file')),
    -- The id or the URL.
    reference text NOT NULL,
    type text NOT NULL CHECK (type IN ('image', 'audio', 'video', 'document', 'custom')),
    storage_key text NOT NULL,
    name text NOT NULL,
    mime_type text NOT NULL,
    -- 0 where it is not known.
    size_bytes bigint NOT NULL CHECK (size_bytes >= 0),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, digest)
);

CREATE INDEX files_by_ordinal ON recollect.files (tenant_id, ordinal);
CREATE INDEX files_by_method ON recollect.files (tenant_id, transfer_method, ordinal);

SELECT recollect.isolate('files');
GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.files TO recollect_service;
