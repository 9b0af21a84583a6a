-- Whether a fact made of messages of one thread may belong to a user: the thread's user, or one whom
-- a message names as the one who said it; and no message was said by another one, named or not.
CREATE OR REPLACE FUNCTION recollect.may_own_fact(
    p_tenant text, p_thread_user text, p_user text, p_sources uuid[]
)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_user <> '' AND (
        SELECT (p_user = p_thread_user OR COALESCE(bool_or(s.speaker = p_user), false))
            AND COALESCE(bool_and(s.speaker = p_user), true)
        FROM (
            -- Null: a model or a tool. Empty: a user whom neither the message nor the thread names.
            SELECT CASE WHEN m.role = 'user' THEN COALESCE(NULLIF(m.said_by, ''), p_thread_user) END AS speaker
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.message_id = ANY (p_sources)
        ) AS s);
END;
$$;
