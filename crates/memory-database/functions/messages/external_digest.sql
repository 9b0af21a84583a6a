-- The digest by which a thread knows a caller's own id of a message. The thread is part of
-- it: two threads may use the same id, and what a deleted message leaves says nothing about
-- other threads.
CREATE OR REPLACE FUNCTION recollect.external_digest(p_thread uuid, p_external text)
RETURNS bytea
LANGUAGE sql STABLE AS $$
    SELECT sha256(convert_to(p_thread::text || ':' || p_external, 'UTF8'))
$$;
