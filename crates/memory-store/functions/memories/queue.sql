-- Names the queue in which a user's memories wait for the index, as a thread's id
-- names that of its messages. So nobody waits for another user's.
CREATE OR REPLACE FUNCTION recollect.memory_queue(p_tenant text, p_app text, p_user text)
RETURNS uuid
LANGUAGE sql IMMUTABLE AS $$
    SELECT md5('memories' || chr(1) || p_tenant || chr(1) || p_app || chr(1) || p_user)::uuid
$$;
