UPDATE recollect.branches b
SET extract_seq = $4
WHERE b.tenant_id = $1 AND b.thread_id = $2 AND b.extract_seq < $4
    AND b.branch IN (
        SELECT m.branch FROM recollect.messages m
        WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.seq BETWEEN $3 AND $4)
