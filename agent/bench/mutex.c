#include "kernmark.h"

const struct km_bench km_mutex[] = { { 0 } };
