// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "quiet_protobuf.hpp"
#include "targets.hpp"

#include "example/example_oracle.hpp"

namespace fuzz {

void sequence_example(ByteView input) {
  quiet_protobuf();
  const std::string disagreement = example_oracle::sequence_disagreement(input);
  expect(disagreement.empty(), disagreement.c_str());
}

}  // namespace fuzz
