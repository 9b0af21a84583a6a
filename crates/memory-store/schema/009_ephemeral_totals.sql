-- What a tenant's ephemeral threads have together, kept by triggers
-- (functions/threads/count_ephemeral.sql), so that an append need not sum them up. Threads
-- that have expired count until they are erased.
CREATE TABLE recollect.ephemeral_totals (
    tenant_id text PRIMARY KEY,
    thread_count bigint NOT NULL,
    -- Sum of threads.content_bytes.
    content_bytes bigint NOT NULL
    -- Every append to an ephemeral thread updates the row.
) WITH (fillfactor = 50);

GRANT SELECT, INSERT, UPDATE ON recollect.ephemeral_totals TO recollect_service;

-- Row-level security would hide the threads from an owner who is no superuser.
ALTER TABLE recollect.threads NO FORCE ROW LEVEL SECURITY;
INSERT INTO recollect.ephemeral_totals (tenant_id, thread_count, content_bytes)
SELECT t.tenant_id, count(*), sum(t.content_bytes)
FROM recollect.threads t
WHERE t.idle_ttl IS NOT NULL
GROUP BY t.tenant_id;
ALTER TABLE recollect.threads FORCE ROW LEVEL SECURITY;
