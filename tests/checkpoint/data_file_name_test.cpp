// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/data_file_name.hpp>

#include "support/catch.hpp"

TEST_CASE("data_file_name: the name that TensorFlow uses", "[checkpoint]") {
  CHECK(distrib::data_file_name("/m/model.ckpt-1234", 0, 2) == "/m/model.ckpt-1234.data-00000-of-00002");
  CHECK(distrib::data_file_name("/m/model.ckpt-1234", 1, 2) == "/m/model.ckpt-1234.data-00001-of-00002");
  CHECK(distrib::data_file_name("c", 99'998, 99'999) == "c.data-99998-of-99999");
}
