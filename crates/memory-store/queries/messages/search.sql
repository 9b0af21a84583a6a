SELECT found.message_id, found.score
FROM recollect.match_words($1, $2, $3, $4, $5, $6, $7, $8) AS found
