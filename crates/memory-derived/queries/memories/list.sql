SELECT m.memory_id, m.app_id, m.user_id, m.text, m.type, m.topics, m.entities, m.metadata, m.kind, m.attributes, m.event_time, m.origin,
    m.external_id, m.thread_id, recollect.sources_of($1, m.memory_id) AS sources, m.pinned, m.valid_from, m.valid_until, m.ended_at,
    m.superseded_by, m.made_by, m.strategy, m.version, m.created_at, m.updated_at, m.persisted_at, m.last_used_on, m.ordinal
FROM recollect.memories m
WHERE m.tenant_id = $1 AND m.app_id = $2 AND m.user_id = $3
    AND m.ordinal < $4
    -- The filter; null: any.
    AND ($6::boolean OR m.valid_until IS NULL)
    AND ($7::text IS NULL OR m.type = $7)
    AND ($8::text[] IS NULL OR m.topics && $8)
    AND ($9::text[] IS NULL OR m.entities && $9)
    AND ($10::uuid IS NULL OR m.thread_id = $10)
    AND ($11::text[] IS NULL OR m.origin = ANY ($11))
    AND ($12::timestamptz IS NULL OR m.created_at >= $12)
    AND ($13::timestamptz IS NULL OR m.created_at < $13)
    AND ($14::jsonb IS NULL OR m.metadata @> $14)
    AND ($15::timestamptz IS NULL OR m.event_time >= $15)
    AND ($16::timestamptz IS NULL OR m.event_time < $16)
    AND recollect.memory_held_at(m.valid_from, m.valid_until, m.created_at, m.ended_at, $17, $18)
    AND ($19::text[] IS NULL OR m.kind = ANY ($19))
ORDER BY m.ordinal DESC
LIMIT $5
