DELETE FROM recollect.node_requests r
WHERE (r.tenant_id, r.request_id) IN (
    SELECT old.tenant_id, old.request_id
    FROM recollect.node_requests old
    WHERE old.created_at < clock_timestamp() - make_interval(secs => $1)
    LIMIT $2
)
