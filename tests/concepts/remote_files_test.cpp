// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/remote_files.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <span>

namespace {

struct Source {
  auto read(std::span<std::byte> to, distrib::Error& error) -> std::size_t;
};

/// The smallest RemoteFiles type.
struct LeastRemoteFiles {
  auto name() const -> const char*;
  auto find(distrib::Error& error) const -> std::vector<std::string>;
  auto open(const std::string& name) const -> Source;
};
static_assert(distrib::RemoteFiles<LeastRemoteFiles>);

struct UniqueRemoteFiles : LeastRemoteFiles {
  UniqueRemoteFiles(UniqueRemoteFiles&&) = default;
};
struct Nameless {
  auto find(distrib::Error& error) const -> std::vector<std::string>;
  auto open(const std::string& name) const -> Source;
};
struct Changing : LeastRemoteFiles {
  auto open(const std::string& name) -> Source;
};
static_assert(!distrib::RemoteFiles<UniqueRemoteFiles>);
static_assert(!distrib::RemoteFiles<Nameless>);
static_assert(!distrib::RemoteFiles<Changing>);
static_assert(!distrib::RemoteFiles<Source>);

}  // namespace

TEST_CASE("RemoteFiles: accepts the smallest model", "[concepts]") { SUCCEED(); }
