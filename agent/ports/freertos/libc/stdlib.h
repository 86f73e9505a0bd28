/* All that the kernel's sources want of <stdlib.h>. */
#include <stddef.h>
