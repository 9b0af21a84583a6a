-- allow_creation for the users whom messages that are to be appended to a thread name as those who
-- said them. Called before the thread's lock is taken.
CREATE OR REPLACE FUNCTION recollect.allow_speakers(p_tenant text, p_thread uuid, p_messages json)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM recollect.allow_creation(p_tenant, s.app_id, s.said_by)
    FROM (
        SELECT DISTINCT t.app_id, n.said_by
        FROM recollect.threads t
        CROSS JOIN json_populate_recordset(NULL::recollect.new_message, p_messages) AS n
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND n.said_by <> ''
    ) AS s;
END;
$$;
