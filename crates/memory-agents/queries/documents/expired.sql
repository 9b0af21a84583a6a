-- Tenants with expired documents, the tenant of the oldest one first.
SELECT d.tenant_id
FROM (
    SELECT x.tenant_id, x.expires_at
    FROM recollect.documents x
    WHERE x.expires_at <= clock_timestamp()
    ORDER BY x.expires_at
    LIMIT $1
) AS d
GROUP BY d.tenant_id
ORDER BY min(d.expires_at)
