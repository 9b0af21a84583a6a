SELECT deleted_count FROM recollect.delete_documents($1, $2, $3, $4, $5, $6, $7)
