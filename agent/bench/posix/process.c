#include "linux.h"
const struct km_bench km_process[] = { { 0 } };
