-- Changes the values that are not null. Deliveries are tried again at once.
WITH changed AS (
    UPDATE recollect.subscriptions s
    SET enabled = COALESCE($3, s.enabled), url = COALESCE($4, s.url), actions = COALESCE($5, s.actions),
        attempts = 0, retry_at = NULL, updated_at = clock_timestamp()
    WHERE s.tenant_id = $1 AND s.name = $2
    RETURNING s.name
)
SELECT c.name, recollect.audit($1, 'update_subscription', NULL, c.name, 1)
FROM changed c
