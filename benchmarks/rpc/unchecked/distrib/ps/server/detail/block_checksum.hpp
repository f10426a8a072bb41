// SPDX-License-Identifier: Apache-2.0
#pragma once

// In the place of ps/server/detail/block_checksum.hpp, to show what checksums cost: those of messages are 0.

#include "../../../../no_crc32c.hpp"

#define crc32c no_crc32c
#define crc32c_extend no_crc32c_extend
#include "../../../../../../../include/distrib/ps/server/detail/block_checksum.hpp"
#undef crc32c_extend
#undef crc32c
