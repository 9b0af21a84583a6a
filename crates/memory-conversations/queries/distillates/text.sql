-- The text of a summary or an observation of a thread that can be read.
SELECT d.text
FROM recollect.threads t
JOIN recollect.distillates d ON d.tenant_id = t.tenant_id AND d.thread_id = t.thread_id
WHERE t.tenant_id = $1 AND t.thread_id = $2 AND d.kind = $3 AND d.number = $4
    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
