#include "linux.h"
const struct km_bench km_timer[] = { { 0 } };
