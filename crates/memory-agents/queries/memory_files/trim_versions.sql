SELECT recollect.trim_memory_file_versions($1, $2, $3, $4)
