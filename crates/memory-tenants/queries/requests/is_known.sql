-- Whether a write was made before: its request id is remembered, or the thread has a message
-- with one of its external ids. $3 is the kind of write.
SELECT CASE $3::text
    WHEN 'append' THEN
        EXISTS (SELECT FROM recollect.requests r WHERE r.tenant_id = $1::text AND r.request_id = $2::uuid)
        OR EXISTS (
            SELECT FROM recollect.threads t
            CROSS JOIN unnest($6::text[]) AS u (external)
            -- The limit keeps Postgres from reading all messages for a join.
            CROSS JOIN LATERAL (
                SELECT FROM recollect.messages m
                WHERE m.tenant_id = $1::text
                    AND m.external_digest = recollect.external_digest(t.thread_id, u.external)
                LIMIT 1) AS known
            WHERE t.tenant_id = $1::text AND (t.thread_id = $4::uuid OR t.session_digest = $5::bytea))
    WHEN 'node_turn' THEN
        EXISTS (SELECT FROM recollect.node_requests r WHERE r.tenant_id = $1::text AND r.request_id = $2::uuid)
    WHEN 'attempt' THEN
        EXISTS (SELECT FROM recollect.attempts i WHERE i.tenant_id = $1::text AND i.request_id = $2::uuid)
    WHEN 'events' THEN
        EXISTS (SELECT FROM recollect.agent_events e WHERE e.tenant_id = $1::text AND e.request_id = $2::uuid)
    END AS known
