SELECT u.changes, u.ids, u.more
FROM recollect.unindexed($1, 'message', $2, $3, $4, $5, $6, $7) AS u
