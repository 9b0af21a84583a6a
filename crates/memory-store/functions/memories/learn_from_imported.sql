-- Lets imported messages of a thread be summed up, because a summary that came with
-- them is gone.
CREATE OR REPLACE FUNCTION recollect.learn_from_imported(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE recollect.messages SET imported = false
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND imported;
END;
$$;
