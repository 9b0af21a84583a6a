-- A moment of the database: the id that a change would get now, the oldest transaction in
-- progress, and the next transaction number. In this order: a change of a transaction that gets
-- its number later has a later id.
SELECT recollect.change_time() * 256 AS now,
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest,
    pg_current_xact_id()::text::bigint AS own
