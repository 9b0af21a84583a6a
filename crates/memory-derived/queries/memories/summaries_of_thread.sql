SELECT m.memory_id, m.text
FROM recollect.memories m
WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.strategy = 'summary' AND m.origin = 'extracted'
    -- A pinned one is never replaced.
    AND m.valid_until IS NULL AND NOT m.pinned
ORDER BY m.ordinal DESC
LIMIT 32
