#include "linux.h"
const struct km_bench km_futex[] = { { 0 } };
