-- Notes that the server $1 has stopped.
DELETE FROM recollect.servers s WHERE s.server_id = $1
