SELECT p.policy
FROM recollect.threads t
JOIN recollect.app_policies p ON p.tenant_id = t.tenant_id AND p.app_id = t.app_id
WHERE t.tenant_id = $1 AND t.thread_id = $2
