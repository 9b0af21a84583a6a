INSERT INTO recollect.app_policies (tenant_id, app_id, policy)
VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, app_id) DO UPDATE
SET policy = EXCLUDED.policy, updated_at = clock_timestamp()
RETURNING policy, updated_at
