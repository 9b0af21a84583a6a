-- In the same transaction the appended messages adopt their content.
SELECT p.status, p.fault_index, p.fault_id, p.item, p.source, p.revision,
    recollect.adopt_contents($1, CASE WHEN p.status = 'ok' THEN $22::text[] END, $23::text[])
FROM recollect.put_working_memory(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21) AS p
