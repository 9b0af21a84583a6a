-- The id of the outbox queue for a user's memories, as a thread's id is for its
-- messages: no user waits for another's changes. It is also a user's queue of messages.
CREATE OR REPLACE FUNCTION recollect.memory_queue(p_tenant text, p_app text, p_user text)
RETURNS uuid
LANGUAGE sql IMMUTABLE AS $$
    SELECT md5('memories' || chr(1) || p_tenant || chr(1) || p_app || chr(1) || p_user)::uuid
$$;
