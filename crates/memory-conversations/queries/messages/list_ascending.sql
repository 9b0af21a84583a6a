-- A page is limited by rows and by bytes; the running sum is over one page at most.
SELECT page.message, page.found_count
FROM (
    SELECT found.*, sum(found.bytes) OVER (ORDER BY found.seq ASC) AS running_bytes,
        count(*) OVER () AS found_count
    FROM (
        SELECT recollect.readable(m) AS message, m.seq, m.bytes
        FROM recollect.messages m
        WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.seq > $3
            AND m.deleted_at IS NULL
            -- Null: no filter.
            AND ($4::text[] IS NULL OR m.role = ANY ($4))
            AND ($5::text[] IS NULL OR m.name = ANY ($5))
            AND ($6::text[] IS NULL OR m.said_by = ANY ($6))
            AND ($7::timestamptz IS NULL OR m.said_at >= $7)
            AND ($8::timestamptz IS NULL OR m.said_at < $8)
            AND ($9::jsonb IS NULL OR m.metadata @> $9)
        ORDER BY m.seq ASC
        LIMIT $10
    ) AS found
) AS page
-- The first message is returned even if it is too large.
WHERE page.running_bytes <= $11 OR page.running_bytes = page.bytes
ORDER BY page.seq ASC
