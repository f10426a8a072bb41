// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/parameters_sha256.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/sha256.hpp>

#include <cstddef>
#include <map>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto parameters_sha256(const Job& job, const RuntimeValues& values, std::span<const TableDigest> tables)
    -> std::string {
  std::map<std::string, ByteView> by_name;
  for (std::size_t i = 0; i < job.variables.size(); ++i)
    by_name[job.variables[i].name] = {values.data(i), job.variables[i].size_bytes()};
  for (std::size_t i = 0; i < tables.size(); ++i) by_name[job.tables[i].name] = detail::bytes_of(tables[i]);
  Sha256 hash;
  for (const auto& [name, bytes] : by_name) hash.update(bytes);
  return to_hex(hash.finish());
}

}  // namespace v0
}  // namespace distrib
