// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// The categories in which errors of a peer are looked up by name, besides "distrib.rpc" and "distrib.net".
using ErrorCategories = std::span<const std::error_category* const>;

}  // namespace v0
}  // namespace distrib
