-- Lets writers of memories of one user wait for each other: no memory is stored twice,
-- and changes of several rows cannot deadlock. What changes memories without it must not wait
-- for one while it holds another (memories/persisted, memories/used).
CREATE OR REPLACE FUNCTION recollect.lock_memories(p_tenant text, p_app text, p_user text)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(
        'memories' || chr(1) || p_tenant || chr(1) || p_app || chr(1) || p_user, 0));
END;
$$;
