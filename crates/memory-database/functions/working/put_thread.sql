-- Changes the thread of a working memory that is put: its lifetime and fields of its
-- policy; null leaves either. The caller has the thread's lock.
CREATE OR REPLACE FUNCTION recollect.put_thread(
    p_tenant text, p_thread uuid, p_ttl_seconds double precision, p_policy jsonb
)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_policy jsonb;
BEGIN
    SELECT t.policy || p_policy INTO v_policy
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND t.policy || p_policy <> t.policy;
    IF p_ttl_seconds IS NULL AND v_policy IS NULL THEN
        RETURN;
    END IF;
    UPDATE recollect.threads t
    SET policy = COALESCE(v_policy, t.policy), version = gen_random_uuid(), updated_at = clock_timestamp(),
        expires_at = CASE WHEN p_ttl_seconds IS NULL THEN t.expires_at
            ELSE LEAST(clock_timestamp() + make_interval(secs => p_ttl_seconds), clock_timestamp() + t.idle_ttl) END,
        lifetime_end = CASE WHEN p_ttl_seconds IS NULL OR t.idle_ttl IS NULL THEN t.lifetime_end
            ELSE clock_timestamp() + make_interval(secs => p_ttl_seconds) END
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    IF v_policy IS NOT NULL THEN
        PERFORM recollect.enqueue_distill(p_tenant, p_thread);
    END IF;
    PERFORM recollect.audit(p_tenant, 'update_thread', p_thread, '', 1);
END;
$$;
