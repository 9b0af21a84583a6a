-- Ends the delivery of a batch. No row: it was acknowledged before.
WITH done AS (
    SELECT s.number, s.batch FROM recollect.subscriptions s
    WHERE s.tenant_id = $1 AND s.name = $2 AND s.batch_id = $3 AND s.batch <> '{}'
    FOR UPDATE
),
gone AS (
    DELETE FROM recollect.subscription_events e
    USING done
    WHERE e.tenant_id = $1 AND e.subscription = done.number AND e.id = ANY (done.batch)
)
UPDATE recollect.subscriptions s
SET batch = '{}', delivered_count = s.delivered_count + cardinality(done.batch), reported_count = s.batch_dropped,
    attempts = 0, last_error = ''
FROM done
WHERE s.tenant_id = $1 AND s.name = $2
RETURNING s.name
