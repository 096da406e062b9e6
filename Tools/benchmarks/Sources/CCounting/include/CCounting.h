#ifndef CCOUNTING_H
#define CCOUNTING_H
#include <stdint.h>
/// How many blocks of memory the process has asked for so far.
uint64_t counting_allocations(void);
/// How many calls of fsync, fdatasync, msync, syncfs and sync_file_range it has made so far.
uint64_t counting_syncs(void);
/// Gives the system what memory is free: malloc_trim(3).
void counting_trim(void);
#endif
