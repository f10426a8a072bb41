// SPDX-License-Identifier: Apache-2.0
// Bytes, errors, checksums, shapes, variables, JSON, the protobuf wire format. Not here: core/usable_cpus.hpp, core/usable_memory.hpp.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/core/fixed_string.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/half.hpp>
#include <distrib/core/hmac.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/io_action.hpp>
#include <distrib/core/json.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/core/md5.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/core/stochastic_rounding.hpp>
#include <distrib/core/variables.hpp>
