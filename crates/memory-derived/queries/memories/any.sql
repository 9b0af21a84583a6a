SELECT EXISTS (
    SELECT FROM recollect.memories m
    WHERE m.tenant_id = $1 AND m.app_id = $2 AND m.user_id = $3)
