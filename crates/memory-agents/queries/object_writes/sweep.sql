DELETE FROM recollect.object_writes w
WHERE (w.tenant_id, w.object_key, w.write_id) IN (
    SELECT old.tenant_id, old.object_key, old.write_id
    FROM recollect.object_writes old
    WHERE old.began_at < clock_timestamp() - make_interval(secs => $1)
    LIMIT $2
)
