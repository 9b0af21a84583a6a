SELECT recollect.erase_memory_file_versions($1, $2, $3)
