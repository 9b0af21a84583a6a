-- A page of events by number, or with $7 by descending number: then the keys are negative.
-- It is limited by rows and by bytes; the running sum is over one page at most.
SELECT page.number, page.type, page.data, page.message_name, page.happened_at, page.found_count
FROM (
    SELECT found.*, sum(found.bytes) OVER (ORDER BY found.key) AS running_bytes,
        count(*) OVER () AS found_count
    FROM (
        (SELECT e.number AS key, e.number, e.type, e.data, e.message_name, e.happened_at, e.bytes
        FROM recollect.agent_events e
        WHERE NOT $7::boolean AND e.tenant_id = $1 AND e.thread_id = $2 AND e.number > $3
            -- Null: no filter.
            AND ($4::text[] IS NULL OR e.type = ANY ($4))
            AND ($5::timestamptz IS NULL OR e.happened_at >= $5)
            AND ($6::timestamptz IS NULL OR e.happened_at < $6)
            AND ($10::text[] IS NULL OR e.message_name = ANY ($10))
        ORDER BY e.number ASC
        LIMIT $8)
        UNION ALL
        (SELECT -e.number, e.number, e.type, e.data, e.message_name, e.happened_at, e.bytes
        FROM recollect.agent_events e
        WHERE $7::boolean AND e.tenant_id = $1 AND e.thread_id = $2 AND e.number < -$3::bigint
            AND ($4::text[] IS NULL OR e.type = ANY ($4))
            AND ($5::timestamptz IS NULL OR e.happened_at >= $5)
            AND ($6::timestamptz IS NULL OR e.happened_at < $6)
            AND ($10::text[] IS NULL OR e.message_name = ANY ($10))
        ORDER BY e.number DESC
        LIMIT $8)
    ) AS found
) AS page
-- The first event is returned even if it is too large.
WHERE page.running_bytes <= $9 OR page.running_bytes = page.bytes
ORDER BY page.key
