-- The number of the oldest transaction that may note a change, or $1, the number of the moment: nothing
-- is known of what began later. Such a transaction holds its lock of the table until what it has written
-- is visible. Locks have the lower 32 bits of a transaction's number.
SELECT LEAST($1::bigint, min(s.xmin + (own.transactionid::text::bigint - s.xmin % (1::bigint << 32) + (1::bigint << 32))
    % (1::bigint << 32))) AS oldest
FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xmin) s, pg_locks noting
JOIN pg_locks own USING (virtualtransaction)
WHERE noting.locktype = 'relation' AND noting.mode = 'RowExclusiveLock' AND noting.granted
    AND noting.relation = 'recollect.transactions'::regclass
    AND noting.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND own.locktype = 'transactionid' AND own.mode = 'ExclusiveLock' AND own.granted
