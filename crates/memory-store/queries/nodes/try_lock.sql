-- The same lock as that of nodes/lock, if nobody has it.
SELECT pg_try_advisory_xact_lock(hashtextextended($1::text || '/' || $2::uuid || '/' || $3::text, 0))
