SELECT m.app_id, m.user_id FROM recollect.memories m WHERE m.tenant_id = $1 AND m.memory_id = $2
