-- The digests of the external ids of some messages, erased ones included.
SELECT m.message_id, m.external_digest
FROM recollect.messages m
WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.message_id = ANY ($3) AND m.external_digest IS NOT NULL
