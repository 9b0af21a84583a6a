-- When something that messages prove was first said; without a message, and of times in the
-- future, now.
CREATE OR REPLACE FUNCTION recollect.first_said_at(p_tenant text, p_sources uuid[])
RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN LEAST(
        (SELECT min(m.said_at) FROM recollect.messages m
         WHERE m.tenant_id = p_tenant AND m.message_id = ANY (p_sources)),
        clock_timestamp());
END;
$$;
