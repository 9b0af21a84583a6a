-- The id of the message of a thread that a caller names: by its id, or else by the caller's
-- own id. Null: the thread has no such message, or it was deleted.
CREATE OR REPLACE FUNCTION recollect.named_message(p_tenant text, p_thread uuid, p_name text)
RETURNS uuid
-- Strict: without a name the planner does not call it.
LANGUAGE plpgsql STABLE STRICT AS $$
#variable_conflict use_column
DECLARE
    v_id uuid := recollect.uuid_of(p_name);
BEGIN
    IF v_id IS NOT NULL THEN
        PERFORM FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = v_id AND m.thread_id = p_thread AND m.deleted_at IS NULL;
        IF FOUND THEN
            RETURN v_id;
        END IF;
    END IF;
    SELECT m.message_id INTO v_id
    FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
        AND m.external_digest = recollect.external_digest(p_thread, p_name) AND m.deleted_at IS NULL;
    RETURN v_id;
END;
$$;
