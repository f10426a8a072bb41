// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/parameters_sha256.hpp>

#include "support/catch.hpp"

#include <cstring>
#include <string>

namespace {
void write(distrib::RuntimeValues& values, std::size_t index, const std::string& text) {
  std::memcpy(values.data(index), text.data(), text.size());
}
}  // namespace

TEST_CASE("parameters_sha256: the bytes of variables and the digests of tables, in the order of their names",
          "[train]") {
  distrib::Job job;
  job.variables = {{"c", distrib::DType::float32, {2}, {}}, {"a", distrib::DType::float32, {1}, {}}};
  distrib::RuntimeValues values{distrib::RuntimeVariables{job.variables}};
  write(values, 0, "cccccccc");
  write(values, 1, "aaaa");
  CHECK(parameters_sha256(job, values) == distrib::to_hex(distrib::sha256(distrib::as_bytes("aaaacccccccc"))));

  job.tables = {{"b", 4, 0, {}}};
  distrib::TableDigest digest;
  digest.words.fill(0x6262'6262'6262'6262);  // its bytes are the letter b
  const std::string expected = "aaaa" + std::string(sizeof digest, 'b') + "cccccccc";
  CHECK(parameters_sha256(job, values, {&digest, 1}) == distrib::to_hex(distrib::sha256(distrib::as_bytes(expected))));
}
