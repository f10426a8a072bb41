// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/record_writer.hpp>

namespace distrib {
inline namespace v0 {

#ifndef DISTRIB_HEADER_ONLY
template class BasicRecordWriter<Deflater>;
#endif

}  // namespace v0
}  // namespace distrib
