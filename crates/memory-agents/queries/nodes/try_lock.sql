-- The lock of nodes/lock, if it is free.
SELECT pg_try_advisory_xact_lock(hashtextextended($1::text || '/' || $2::uuid || '/' || $3::text, 0))
