-- Empties the contexts of a thread's working memory, also the contexts of other paths. The
-- messages that they cover stay out of the working memory. The caller has the
-- thread's lock.
CREATE OR REPLACE FUNCTION recollect.clear_contexts(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE recollect.distillates
    SET text = '', tokens = 0, sets_aside = true, own_text = true
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND kind = 'summary' AND text <> '';
    IF FOUND THEN
        PERFORM recollect.raise_generations(p_tenant, p_thread, 'summary');
    END IF;
END;
$$;
