-- Empties the contexts of a thread's working memory, also those that another
-- path would come back to. What they stand for stays out of it. The caller has
-- the thread's lock.
CREATE OR REPLACE FUNCTION recollect.forget_contexts(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE recollect.distillates
    SET text = '', tokens = 0, sets_aside = true, own_text = true
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND kind = 'summary' AND text <> '';
    IF FOUND THEN
        UPDATE recollect.threads
        SET summary_generation = summary_generation + 1
        WHERE tenant_id = p_tenant AND thread_id = p_thread;
    END IF;
END;
$$;
