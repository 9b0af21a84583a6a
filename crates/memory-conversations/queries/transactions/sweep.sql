DELETE FROM recollect.transactions t
WHERE (t.tenant_id, t.id) IN (
    SELECT old.tenant_id, old.id
    FROM recollect.transactions old
    WHERE old.created_at < clock_timestamp() - make_interval(secs => $1)
    LIMIT $2
)
