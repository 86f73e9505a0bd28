// SPDX-License-Identifier: MIT OR Apache-2.0
#include "transfer.h"

/* Aligned as a program's messages are. */
_Alignas(8) uint8_t transfer_sent[TRANSFER_LONGEST + TRANSFER_BATCH * TRANSFER_STEP];
_Alignas(8) uint8_t transfer_received[TRANSFER_BATCH * TRANSFER_LONGEST];
