-- Whether the head of a thread is another message than the one that a caller expects; null:
-- none.
CREATE OR REPLACE FUNCTION recollect.is_other_head(p_tenant text, p_thread uuid, p_head uuid, p_expected text)
RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT (p_head IS NULL) <> (p_expected IS NULL)
        OR p_head IS DISTINCT FROM recollect.named_message(p_tenant, p_thread, p_expected)
$$;
