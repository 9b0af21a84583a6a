SELECT c.digest, c.object_key
FROM recollect.contents c
WHERE c.tenant_id = $1 AND c.digest = ANY ($2::bytea[]) AND c.stored
    -- A bound caller reads the content of messages and nodes within its bounds.
    AND (recollect.is_unbound() OR EXISTS (
        SELECT FROM recollect.content_holders h
        WHERE h.tenant_id = c.tenant_id AND h.digest = c.digest AND CASE
            WHEN h.holder LIKE '%/%' THEN EXISTS (
                SELECT FROM recollect.threads t
                WHERE t.tenant_id = $1 AND t.thread_id = split_part(h.holder, '/', 1)::uuid)
            ELSE EXISTS (
                SELECT FROM recollect.messages m
                WHERE m.tenant_id = $1 AND m.message_id = h.holder::uuid)
        END
    ))
