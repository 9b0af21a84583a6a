-- Lets facts be extracted from imported messages of a thread, because a summary that was
-- imported with them is gone.
CREATE OR REPLACE FUNCTION recollect.unmark_imported(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE recollect.messages SET imported = false
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND imported;
END;
$$;
