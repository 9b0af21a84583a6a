WITH changed AS (
    UPDATE recollect.threads t
    SET title = COALESCE($3, t.title),
        metadata = COALESCE($4, t.metadata),
        -- $5: whether to change the expiry; $6: seconds to live, null: without end.
        expires_at = CASE WHEN $5
            THEN LEAST(clock_timestamp() + make_interval(secs => $6), clock_timestamp() + t.idle_ttl)
            -- An update counts as a use of an ephemeral thread.
            WHEN t.idle_ttl IS NOT NULL THEN LEAST(t.lifetime_end, clock_timestamp() + t.idle_ttl)
            ELSE t.expires_at END,
        lifetime_end = CASE WHEN $5 AND t.idle_ttl IS NOT NULL
            THEN clock_timestamp() + make_interval(secs => $6) ELSE t.lifetime_end END,
        -- $7, $8, $9: the change of the policy; $9 null: none.
        policy = CASE WHEN $9::jsonb IS NULL THEN t.policy
            ELSE recollect.policy_changed(t.policy, $7, $8, $9) END,
        -- The new policy may require derived text that the old one did not.
        distill_at = CASE WHEN $9::jsonb IS NULL THEN t.distill_at ELSE 0 END,
        version = gen_random_uuid(), updated_at = clock_timestamp()
    -- $10: the condition, as etag_matches takes it.
    WHERE t.tenant_id = $1 AND t.thread_id = $2 AND recollect.etag_matches($10, t.version::text)
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    RETURNING t.*
),
-- A run in progress has read the policy before.
wanted AS (
    UPDATE recollect.distill_jobs j
    SET wanted = j.wanted + 1
    FROM changed c
    WHERE $9::jsonb IS NOT NULL AND j.tenant_id = $1 AND j.thread_id = c.thread_id AND j.lease_id IS NOT NULL
)
SELECT c.thread_id, c.app_id, c.user_id, c.session_key, c.title, c.metadata,
    c.last_seq, c.head_id, c.message_count, c.created_at, c.updated_at, c.expires_at, c.policy, c.version, c.idle_ttl IS NOT NULL AS ephemeral,
    recollect.audit($1, 'update_thread', $2, '', 1)
FROM changed c
