SELECT found.message_id, found.score
FROM recollect.match_messages($1, $2, $3, $4, $5, $6, $7, $8, $9) AS found
