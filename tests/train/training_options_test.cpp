// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/training_options.hpp>

#include "support/catch.hpp"

using distrib::Partition;
using distrib::PlacementRequest;
using distrib::TrainingOptions;

namespace {
/// Divides along the last axis into `parts` parts.
struct IntoParts {
  std::int64_t parts;
  auto partition(const distrib::Shape& shape, distrib::DType) const -> Partition {
    return {.axis = shape.rank() - 1, .parts = parts};
  }
};
}  // namespace

TEST_CASE("TrainingOptions: by default variables are placed round robin, undivided, and every rank counts", "[train]") {
  TrainingOptions options;
  CHECK(options.placement.place({}, 2) == 0);
  CHECK(options.placement.place({}, 2) == 1);
  CHECK(options.partitioner.partition({4, 2}, distrib::DType::float32).parts == 1);
  CHECK(options.consistency == distrib::BulkSynchronousParallel{});
  CHECK(options.updater.text() == distrib::AnyUpdater{distrib::Sgd{}}.text());
}

TEST_CASE("TrainingOptions: policies of any type; a copy continues from the state of the original", "[train]") {
  TrainingOptions options;
  options.partitioner = distrib::detail::AnyPartitioner::of(IntoParts{3});
  CHECK(options.partitioner.partition({4, 9}, distrib::DType::float32) == Partition{.axis = 1, .parts = 3});

  CHECK(options.placement.place({}, 3) == 0);
  TrainingOptions copy = options;
  CHECK(copy.placement.place({}, 3) == 1);
  CHECK(copy.placement.place({}, 3) == 2);
  CHECK(options.placement.place({}, 3) == 1);
}
