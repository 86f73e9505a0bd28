/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All that the kernel's sources want of <stdlib.h>. */
#include <stddef.h>
