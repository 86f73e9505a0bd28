#include "kernmark.h"

const struct km_bench km_fifo[] = { { 0 } };
