SELECT file_count, byte_count FROM recollect.begin_memory_files($1, $2, $3, $4)
