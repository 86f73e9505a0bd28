#include "kernmark.h"

const struct km_bench km_isr[] = { { 0 } };
