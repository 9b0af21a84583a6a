-- Erases checkpoints of threads, with their writes and the values that no other one has. Returns
-- how many.
CREATE OR REPLACE FUNCTION recollect.delete_checkpoints(
    p_tenant text, p_actor text,
    -- The threads of these sessions; null: the threads of p_app and p_user.
    p_digests bytea[], p_app text, p_user text,
    -- Only checkpoints whose metadata has all fields of one of these JSON objects; empty: all.
    p_metadata text[],
    -- All but the greatest id of each namespace, which then has no parent.
    p_keep_latest boolean,
    OUT deleted_count bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_thread uuid;
    v_threads uuid[] := ARRAY[]::uuid[];
    v_before bigint;
    v_count bigint;
    v_others bigint;
    v_filters jsonb[] := ARRAY(SELECT m.filter::jsonb FROM unnest(p_metadata) AS m (filter));
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    deleted_count := 0;
    FOR v_thread IN
        SELECT t.thread_id FROM recollect.threads t
        WHERE t.tenant_id = p_tenant
            AND (p_digests IS NULL OR t.session_digest = ANY (p_digests))
            AND (p_app IS NULL OR t.app_id = p_app AND t.user_id = p_user)
            AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
            AND (EXISTS (
                    SELECT FROM recollect.checkpoints c
                    WHERE c.tenant_id = p_tenant AND c.thread_id = t.thread_id
                        AND recollect.checkpoint_metadata_matches(c.metadata, v_filters))
                OR p_digests IS NOT NULL AND EXISTS (
                    SELECT FROM recollect.checkpoint_writes w
                    WHERE w.tenant_id = p_tenant AND w.thread_id = t.thread_id))
        -- In order, to avoid deadlocks.
        ORDER BY t.thread_id
    LOOP
        IF recollect.lock_thread(p_tenant, p_actor, v_thread) THEN
            v_threads := v_threads || v_thread;
        END IF;
    END LOOP;
    -- After all locks: a change of an ephemeral thread's size locks ephemeral_totals.
    FOREACH v_thread IN ARRAY v_threads LOOP
        v_before := recollect.checkpoint_bytes(p_tenant, v_thread);
        WITH deleted AS (
            DELETE FROM recollect.checkpoints c
            WHERE c.tenant_id = p_tenant AND c.thread_id = v_thread
                AND recollect.checkpoint_metadata_matches(c.metadata, v_filters)
                AND NOT (p_keep_latest AND c.checkpoint_id = (
                    SELECT max(x.checkpoint_id) FROM recollect.checkpoints x
                    WHERE x.tenant_id = p_tenant AND x.thread_id = v_thread AND x.namespace = c.namespace))
            RETURNING c.namespace, c.checkpoint_id
        ),
        written AS (
            DELETE FROM recollect.checkpoint_writes w
            USING deleted
            WHERE w.tenant_id = p_tenant AND w.thread_id = v_thread AND w.namespace = deleted.namespace
                AND w.checkpoint_id = deleted.checkpoint_id
        )
        SELECT count(*) INTO v_count FROM deleted;
        v_others := 0;
        IF p_keep_latest THEN
            UPDATE recollect.checkpoints SET parent_id = ''
            WHERE tenant_id = p_tenant AND thread_id = v_thread AND parent_id <> '';
            GET DIAGNOSTICS v_others = ROW_COUNT;
        ELSIF cardinality(v_filters) = 0 THEN
            -- Also writes whose checkpoint was never stored.
            DELETE FROM recollect.checkpoint_writes w WHERE w.tenant_id = p_tenant AND w.thread_id = v_thread;
            GET DIAGNOSTICS v_others = ROW_COUNT;
        END IF;
        PERFORM recollect.collect_checkpoint_values(p_tenant, v_thread);
        PERFORM recollect.add_checkpoint_bytes(
            p_tenant, v_thread, recollect.checkpoint_bytes(p_tenant, v_thread) - v_before);
        IF v_count + v_others > 0 THEN
            PERFORM recollect.audit(p_tenant, 'delete_checkpoints', v_thread, '', v_count);
        END IF;
        deleted_count := deleted_count + v_count;
    END LOOP;
END;
$$;
