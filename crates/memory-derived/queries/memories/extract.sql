SELECT status, stored, known, dropped, superseded, queue, revision
FROM recollect.extract_memories($1, $2, $3, $4, $5, $6, $7, $8, $9)
