-- Ends a thread, as hide_thread does. With p_only_expired it ends only a thread that has expired
-- and was not ended. Without it an expired thread counts as not found, unless it is being cleared.
CREATE OR REPLACE FUNCTION recollect.delete_thread(
    p_tenant text, p_actor text, p_thread uuid, p_only_expired boolean,
    -- ok or thread_not_found.
    OUT status text, OUT message_count bigint, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND ((t.expires_at IS NOT NULL AND t.expires_at <= clock_timestamp()) = p_only_expired
            OR NOT p_only_expired AND recollect.is_clearing(p_tenant, p_thread))
    FOR UPDATE;
    IF NOT FOUND OR EXISTS (
        SELECT FROM recollect.erasures e
        WHERE e.tenant_id = p_tenant AND e.erasure_id = p_thread
            AND e.step <> 'hide' AND (p_only_expired OR e.step <> 'clear'))
    THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT h.message_count, h.revision INTO message_count, revision
    FROM recollect.hide_thread(p_tenant, p_thread, NULL) h;
    IF NOT p_only_expired THEN
        -- The caller begins to erase it.
        UPDATE recollect.erasures SET available_at = clock_timestamp() + interval '5 seconds'
        WHERE tenant_id = p_tenant AND erasure_id = p_thread;
    END IF;
    status := 'ok';
END;
$$;
