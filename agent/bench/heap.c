#include "kernmark.h"

const struct km_bench km_heap[] = { { 0 } };
