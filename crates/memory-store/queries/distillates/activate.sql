-- What a crash of the machine takes is derived again: nobody waits for the disk.
SELECT status, number, generation
FROM set_config('synchronous_commit', 'off', true) AS relaxed,
    recollect.activate_observations($1, $2, $3, $4, $5)
