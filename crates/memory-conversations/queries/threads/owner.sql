SELECT t.app_id, t.user_id FROM recollect.threads t WHERE t.tenant_id = $1 AND t.thread_id = $2
