-- A page of events by number, or with $7 by descending number: then the keys are negative.
-- It is limited by rows and by bytes; the running sum is over one page at most.
SELECT page.number, page.type, page.data, page.message_name, page.happened_at, page.found_count
FROM (
    SELECT found.*, sum(found.bytes) OVER (ORDER BY found.key) AS running_bytes,
        count(*) OVER () AS found_count
    FROM (
        (SELECT e.number AS key, e.number, e.type, e.data, e.message_name, e.happened_at, e.bytes
        FROM recollect.agent_events e
        WHERE NOT $7::boolean AND $10::text[] IS NULL AND e.tenant_id = $1 AND e.thread_id = $2 AND e.number > $3
            -- Null: no filter.
            AND ($4::text[] IS NULL OR e.type = ANY ($4))
            AND ($5::timestamptz IS NULL OR e.happened_at >= $5)
            AND ($6::timestamptz IS NULL OR e.happened_at < $6)
        ORDER BY e.number ASC
        LIMIT $8)
        UNION ALL
        (SELECT -e.number, e.number, e.type, e.data, e.message_name, e.happened_at, e.bytes
        FROM recollect.agent_events e
        WHERE $7::boolean AND $10::text[] IS NULL AND e.tenant_id = $1 AND e.thread_id = $2 AND e.number < -$3::bigint
            AND ($4::text[] IS NULL OR e.type = ANY ($4))
            AND ($5::timestamptz IS NULL OR e.happened_at >= $5)
            AND ($6::timestamptz IS NULL OR e.happened_at < $6)
        ORDER BY e.number DESC
        LIMIT $8)
        UNION ALL
        -- The events of messages by their names, in both orders: all of these messages are read.
        (SELECT CASE WHEN $7::boolean THEN -e.number ELSE e.number END AS key,
            e.number, e.type, e.data, e.message_name, e.happened_at, e.bytes
        FROM (SELECT DISTINCT n.name FROM unnest($10::text[]) AS n (name)) AS named
        CROSS JOIN LATERAL (
            SELECT e.*
            FROM recollect.agent_events e
            WHERE e.tenant_id = $1 AND e.thread_id = $2 AND e.message_name = named.name AND e.message_name <> ''
                AND CASE WHEN $7::boolean THEN e.number < -$3::bigint ELSE e.number > $3::bigint END
                AND ($4::text[] IS NULL OR e.type = ANY ($4))
                AND ($5::timestamptz IS NULL OR e.happened_at >= $5)
                AND ($6::timestamptz IS NULL OR e.happened_at < $6)
            -- Keeps Postgres from reading the whole log for a join.
            OFFSET 0
        ) AS e
        ORDER BY 1
        LIMIT $8)
    ) AS found
) AS page
-- The first event is returned even if it is too large.
WHERE page.running_bytes <= $9 OR page.running_bytes = page.bytes
ORDER BY page.key
