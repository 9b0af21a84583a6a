-- Takes changes that write messages or memories of a thread out of the lists of waiting changes, because
-- a newer one from p_number on writes them as they are now. Workers may index the newer one first. Then
-- searches must not take the content that they have read for the older one, which still waits, for that
-- of the message or memory.
CREATE OR REPLACE FUNCTION recollect.supersede_changes(
    p_tenant text, p_thread uuid, p_subjects uuid[], p_number bigint
)
RETURNS void
LANGUAGE sql AS $$
    UPDATE recollect.outbox
    SET app_id = NULL, user_queue = NULL
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND message_id = ANY (p_subjects) AND op = 'upsert'
        AND id < p_number AND app_id IS NOT NULL
$$;
