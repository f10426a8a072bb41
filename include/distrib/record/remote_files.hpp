// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/record/byte_source.hpp>

#include <concepts>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A set of files on another machine; a value.
/// - `files.name()`: what errors call the set;
/// - `files.find(error)`: returns the name of each file, always in the same order; on failure sets `error`. A name may
///   be
///   a URL with a token in its query: messages about records leave that out;
/// - `files.open(name)`: returns the bytes of one file. A file that cannot be opened fails when it is read.
template <class F>
concept RemoteFiles = std::copy_constructible<F> && requires(const F& files, const std::string& name, Error& error) {
  { files.name() } -> std::convertible_to<std::string>;
  { files.find(error) } -> std::same_as<std::vector<std::string>>;
  { files.open(name) } -> ByteSource;
};

}  // namespace v0
}  // namespace distrib
