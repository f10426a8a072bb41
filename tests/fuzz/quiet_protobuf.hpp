// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __has_include(<google/protobuf/stubs/logging.h>)
#include <google/protobuf/stubs/logging.h>
#endif

namespace fuzz {

/// Protobuf before 22 tells standard error of every text that is no UTF-8, which takes longer than the test.
inline void quiet_protobuf() {
#if __has_include(<google/protobuf/stubs/logging.h>)
  static const auto before = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(before);
#endif
}

}  // namespace fuzz
