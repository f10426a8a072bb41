// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/data/record_files.hpp>

namespace distrib {
inline namespace v0 {

#ifndef DISTRIB_HEADER_ONLY
template class BasicRecordFiles<Inflater>;
#endif

}  // namespace v0
}  // namespace distrib
