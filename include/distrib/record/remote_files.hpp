// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/record/byte_source.hpp>

#include <concepts>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Files that no path of this machine leads to; a value.
/// - `files.name()`: what they are called, for errors;
/// - `files.find(error)`: the name of each, in an order that is always the same;
/// - `files.open(name)`: the bytes of one. What cannot be opened says so when it is read.
template <class F>
concept RemoteFiles = std::copy_constructible<F> && requires(const F& files, const std::string& name, Error& error) {
  { files.name() } -> std::convertible_to<std::string>;
  { files.find(error) } -> std::same_as<std::vector<std::string>>;
  { files.open(name) } -> ByteSource;
};

}  // namespace v0
}  // namespace distrib
