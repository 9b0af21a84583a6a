SELECT namespace, key, text, selected_count
FROM recollect.document_candidates($1, $2, $3, $4, $5, $6, $7, $8)
