/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All that the kernel's sources need from <stdlib.h>. */
#include <stddef.h>
