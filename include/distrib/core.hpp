// SPDX-License-Identifier: Apache-2.0
// Bytes, errors, checksums, shapes, variables, random numbers, the protobuf wire format.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/embedding.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/json_error.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/core/same_math.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/core/usable_cpus.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/core/variables.hpp>
