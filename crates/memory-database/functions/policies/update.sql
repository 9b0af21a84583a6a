-- Changes the policy of an app: with p_replace all of it, otherwise the fields in p_clear and
-- p_set. Changes of one app happen one after the other, so none is lost.
CREATE OR REPLACE FUNCTION recollect.update_app_policy(
    p_tenant text, p_actor text, p_app text,
    -- As etag_matches takes it.
    p_etag text,
    p_replace boolean, p_clear text[], p_set jsonb,
    -- The most apps of a memory space.
    p_max_apps integer,
    -- ok, etag_changed (app_policy: the present one) or space_full.
    OUT status text, OUT app_policy recollect.app_policies
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_space text;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM recollect.allow_creation(p_tenant, p_app, NULL);
    SELECT p.* INTO app_policy FROM recollect.app_policies p
    WHERE p.tenant_id = p_tenant AND p.app_id = p_app
    FOR UPDATE;
    IF NOT recollect.etag_matches(p_etag, app_policy.version::text) THEN
        status := 'etag_changed';
        RETURN;
    END IF;
    v_space := recollect.policy_changed(COALESCE(app_policy.policy, '{}'), p_replace, p_clear, p_set) ->> 'memory_space';
    IF v_space <> COALESCE(app_policy.memory_space, '') THEN
        -- Apps join a space one after the other.
        PERFORM pg_advisory_xact_lock(hashtextextended('space' || chr(1) || p_tenant || chr(1) || v_space, 0));
        IF p_max_apps <= (
            SELECT count(*) FROM recollect.app_policies p
            WHERE p.tenant_id = p_tenant AND p.memory_space = v_space AND p.app_id <> p_app)
        THEN
            app_policy := NULL;
            status := 'space_full';
            RETURN;
        END IF;
    END IF;
    INSERT INTO recollect.app_policies AS p (tenant_id, app_id, policy)
    VALUES (p_tenant, p_app, p_set)
    ON CONFLICT (tenant_id, app_id) DO UPDATE
    SET policy = recollect.policy_changed(p.policy, p_replace, p_clear, p_set),
        version = EXCLUDED.version, updated_at = clock_timestamp()
    RETURNING p.* INTO app_policy;
    -- The app's newest threads are queued for distilling with their next message. All others
    -- follow in time, also threads whose rows are locked now, so that this call does not wait.
    WITH newest AS (
        SELECT t.thread_id
        FROM recollect.threads t
        WHERE t.tenant_id = p_tenant AND t.app_id = p_app
        ORDER BY t.ordinal DESC
        LIMIT 10000
        FOR NO KEY UPDATE SKIP LOCKED
    ),
    due AS (
        UPDATE recollect.threads t
        SET distill_at = 0
        FROM newest
        WHERE t.tenant_id = p_tenant AND t.thread_id = newest.thread_id AND t.distill_at > 0
    )
    -- A run in progress has read the policy before.
    UPDATE recollect.distill_jobs j
    SET wanted = j.wanted + 1
    FROM newest
    WHERE j.tenant_id = p_tenant AND j.thread_id = newest.thread_id AND j.lease_id IS NOT NULL;
    PERFORM recollect.audit_of(p_tenant, 'update_app_policy', NULL, p_app, 1, p_app, '');
    status := 'ok';
END;
$$;
