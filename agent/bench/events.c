#include "kernmark.h"

const struct km_bench km_events[] = { { 0 } };
