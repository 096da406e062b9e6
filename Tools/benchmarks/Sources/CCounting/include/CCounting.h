#ifndef CCOUNTING_H
#define CCOUNTING_H
#include <stdint.h>
/// How many blocks of memory the process has asked for so far.
uint64_t counting_allocations(void);
#endif
