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
