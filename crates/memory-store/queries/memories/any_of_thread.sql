SELECT EXISTS (
    SELECT FROM recollect.threads t
    JOIN recollect.memories m ON m.tenant_id = $1 AND m.app_id = t.app_id AND m.user_id = t.user_id
    WHERE t.tenant_id = $1 AND t.thread_id = $2)
