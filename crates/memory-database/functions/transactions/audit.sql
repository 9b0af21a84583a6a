-- Records a change. The actor is the transaction's setting recollect.actor. In plpgsql,
-- because Postgres plans a function in SQL again for every call: three times the cost.
CREATE OR REPLACE FUNCTION recollect.audit(
    p_tenant text, p_action text, p_thread uuid, p_subject text, p_count bigint
)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        INSERT INTO recollect.transactions (tenant_id, actor, action, thread_id, subject, item_count)
        VALUES (p_tenant, COALESCE(NULLIF(current_setting('recollect.actor', true), ''), 'worker'),
                p_action, p_thread, COALESCE(p_subject, ''), p_count)
        ON CONFLICT DO NOTHING;
        -- Where the id is taken, the next one is free: the change must not fail.
        EXIT WHEN FOUND;
    END LOOP;
END;
$$;
