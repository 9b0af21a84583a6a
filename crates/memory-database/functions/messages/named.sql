-- The id of the message of a thread that a caller names: by its id, or else by the caller's
-- own id. Null: the thread has no such message, or it was deleted.
CREATE OR REPLACE FUNCTION recollect.named_message(p_tenant text, p_thread uuid, p_name text)
RETURNS uuid
-- Strict: without a name the planner does not call it.
LANGUAGE plpgsql STABLE STRICT AS $$
#variable_conflict use_column
DECLARE
    v_id uuid := recollect.uuid_of(p_name);
    v_digest bytea;
    v_message record;
BEGIN
    -- Thread and deletion are compared afterward: as conditions they would make Postgres
    -- prefer another index, without statistics, and read all messages of the thread.
    IF v_id IS NOT NULL THEN
        SELECT m.thread_id, m.deleted_at INTO v_message
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = v_id;
        IF v_message.thread_id = p_thread AND v_message.deleted_at IS NULL THEN
            RETURN v_id;
        END IF;
    END IF;
    v_digest := recollect.external_digest(p_thread, p_name);
    SELECT m.message_id, m.deleted_at INTO v_message
    FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.external_digest = v_digest;
    RETURN CASE WHEN v_message.deleted_at IS NULL THEN v_message.message_id END;
END;
$$;
