-- The ids of the readable messages of ranges of seqs, each with its first seq and its count.
SELECT m.message_id, m.seq, m.external_id
FROM recollect.threads t
CROSS JOIN unnest($3::bigint[], $4::bigint[]) AS r (first, count)
JOIN recollect.messages m
    ON m.tenant_id = t.tenant_id AND m.thread_id = t.thread_id
    AND m.seq >= r.first AND m.seq < r.first + r.count AND m.deleted_at IS NULL
WHERE t.tenant_id = $1 AND t.thread_id = $2
    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
ORDER BY m.seq
