-- Only the holder reads, merges and writes the object of a node.
SELECT pg_advisory_xact_lock(hashtextextended($1::text || '/' || $2::uuid || '/' || $3::text, 0))
