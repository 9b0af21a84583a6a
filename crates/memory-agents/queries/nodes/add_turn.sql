-- In the same transaction the node's memory adopts the content of the turn, after a memory
-- that had expired was erased.
SELECT t.status, t.fault_id, t.user_id, t.assistant_id,
    recollect.adopt_contents(
        $1, array_remove(ARRAY[$19::text], NULL), ARRAY[CASE WHEN t.status = 'ok' THEN $3::uuid || '/' || $4::text END])
FROM recollect.add_node_turn($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) AS t
