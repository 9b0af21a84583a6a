-- The store has answered.
DELETE FROM recollect.object_writes
WHERE tenant_id = $1 AND object_key = $2 AND write_id = $3
