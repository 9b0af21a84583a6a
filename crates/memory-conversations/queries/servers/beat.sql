-- Notes that the server $1 still runs, also if its row was forgotten.
INSERT INTO recollect.servers (server_id) VALUES ($1::uuid)
ON CONFLICT (server_id) DO UPDATE SET beat_at = clock_timestamp()
