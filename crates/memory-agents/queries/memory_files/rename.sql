SELECT renamed_count FROM recollect.rename_memory_files($1, $2, $3, $4, $5, $6, $7, $8)
