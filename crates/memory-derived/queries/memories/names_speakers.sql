-- Whether a message of a thread names the user who said it.
SELECT EXISTS (
    SELECT FROM recollect.messages m
    WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.said_by <> '') AS names_speakers
