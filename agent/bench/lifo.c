#include "kernmark.h"

const struct km_bench km_lifo[] = { { 0 } };
