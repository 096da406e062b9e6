#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H
#include <stdint.h>
/// How many blocks of memory the process has asked for so far.
uint64_t allocations_count(void);
#endif
