WITH changed AS (
    INSERT INTO recollect.app_policies (tenant_id, app_id, policy)
    VALUES ($1, $2, $3)
    ON CONFLICT (tenant_id, app_id) DO UPDATE
    SET policy = EXCLUDED.policy, updated_at = clock_timestamp()
    RETURNING app_id, policy, updated_at
)
SELECT c.policy, c.updated_at, recollect.note($1, 'set_app_policy', NULL, c.app_id, 1)
FROM changed c
