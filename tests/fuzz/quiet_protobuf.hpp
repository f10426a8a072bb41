// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __has_include(<google/protobuf/stubs/logging.h>)
#include <google/protobuf/stubs/logging.h>
#endif

namespace fuzz {

/// Silences protobuf: before version 22 it writes a line to standard error about every text that is not UTF-8, which
/// takes longer than the test.
inline void quiet_protobuf() {
#if __has_include(<google/protobuf/stubs/logging.h>)
  static const auto before = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(before);
#endif
}

}  // namespace fuzz
