SELECT t.id, t.parent_id, t.thread_message_id, t.messages
FROM recollect.node_turns t
WHERE t.tenant_id = $1 AND t.thread_id = $2 AND t.node_id = $3
ORDER BY t.id
