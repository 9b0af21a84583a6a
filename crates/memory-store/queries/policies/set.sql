WITH changed AS (
    INSERT INTO recollect.app_policies (tenant_id, app_id, policy)
    VALUES ($1, $2, $3)
    ON CONFLICT (tenant_id, app_id) DO UPDATE
    SET policy = EXCLUDED.policy, updated_at = clock_timestamp()
    RETURNING app_id, policy, updated_at
),
-- The app's newest threads are queued for distilling with their next message, and all
-- others in time; also those whose rows are locked now, so that this call does not wait for
-- them.
newest AS (
    SELECT t.thread_id
    FROM recollect.threads t
    WHERE t.tenant_id = $1 AND t.app_id = $2
    ORDER BY t.ordinal DESC
    LIMIT 10000
    FOR NO KEY UPDATE SKIP LOCKED
),
due AS (
    UPDATE recollect.threads t
    SET distill_at = 0
    FROM newest
    WHERE t.tenant_id = $1 AND t.thread_id = newest.thread_id AND t.distill_at > 0
),
-- A run in progress has read the policy before.
wanted AS (
    UPDATE recollect.distill_jobs j
    SET wanted = j.wanted + 1
    FROM newest
    WHERE j.tenant_id = $1 AND j.thread_id = newest.thread_id AND j.lease_id IS NOT NULL
)
SELECT c.policy, c.updated_at, recollect.note($1, 'set_app_policy', NULL, c.app_id, 1)
FROM changed c
