// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The version of this source as one number, for `#if`: 10000 * major + 100 * minor + patch. A program must use one
/// version of distrib: everything is source code, and object files of different versions need not fit together.
#define DISTRIB_VERSION 200

namespace distrib {
inline namespace v0 {

/// The version as text, "major.minor.patch". CMake reads it from this line.
inline constexpr std::string_view version_text = "0.2.0";

}  // namespace v0
}  // namespace distrib
