#include "kernmark.h"

const struct km_bench km_stack[] = { { 0 } };
