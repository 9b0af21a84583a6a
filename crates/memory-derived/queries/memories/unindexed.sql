-- Memories of the user $3 in the apps $2; null: of all users of the app.
SELECT u.changes, u.ids, u.more
FROM recollect.unindexed(
    $1, 'memory', $2::text[], NULL,
    CASE WHEN $3::text IS NOT NULL
        THEN ARRAY(SELECT recollect.memory_queue($1, apps.app, $3) FROM unnest($2::text[]) AS apps (app)) END,
    $4, $5, $6) AS u
