SELECT u.ids, u.more
FROM recollect.unindexed($1, 'memory', NULL, NULL, recollect.memory_queue($1, $2, $3), $4, $5, 0) AS u
