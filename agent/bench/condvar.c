#include "kernmark.h"

const struct km_bench km_condvar[] = { { 0 } };
