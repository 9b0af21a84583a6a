SELECT u.ids, u.more
FROM recollect.unindexed(
    $1, 'memory', NULL, NULL,
    ARRAY(SELECT recollect.memory_queue($1, apps.app, $3) FROM unnest($2::text[]) AS apps (app)),
    $4, $5, 0, $6) AS u
