-- What a crash of the machine takes is derived again: nobody waits for the disk.
SELECT status, number, generation
FROM set_config('synchronous_commit', 'off', true) AS relaxed,
    recollect.commit_reflection($1, $2, $3, $4, $5, $6, $7, $8, $9)
