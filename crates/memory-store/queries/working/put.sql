-- In the same transaction the appended messages adopt their content.
SELECT p.status, p.fault_index, p.fault_id, p.item, p.source, p.revision,
    recollect.adopt_contents($1, CASE WHEN p.status = 'ok' THEN $29::text[] END, $30::text[])
FROM recollect.put_working_memory(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,
    $27, $28) AS p
