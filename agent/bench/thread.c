#include "kernmark.h"

const struct km_bench km_thread[] = { { 0 } };
