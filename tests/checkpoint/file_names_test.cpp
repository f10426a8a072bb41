// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/file_names.hpp>

#include "support/catch.hpp"

TEST_CASE("the files of a checkpoint have TensorFlow's names", "[checkpoint][file_names]") {
  CHECK(distrib::index_file_name("/m/model.ckpt-1234") == "/m/model.ckpt-1234.index");
  CHECK(distrib::part_file_name("/m/model.ckpt-1234", 1, 2) == "/m/model.ckpt-1234.part-00001-of-00002");
  CHECK(distrib::checkpoint_prefix("train", "model.ckpt", 20) == "train/model.ckpt-20");
}

TEST_CASE("checkpoint_step reads the step at the end of a prefix", "[checkpoint][file_names]") {
  CHECK(distrib::checkpoint_step("train/model.ckpt-1234") == 1234);
  CHECK(distrib::checkpoint_step("c-0") == 0);
  for (const char* without : {"", "c", "c-", "c-1x", "c-99999999999999999999"})
    CHECK_FALSE(distrib::checkpoint_step(without));
}

TEST_CASE("paths are taken apart, joined and made relative", "[checkpoint][file_names]") {
  namespace detail = distrib::detail;
  CHECK(detail::directory_of("/m/c-1") == "/m");
  CHECK(detail::directory_of("/c-1") == "/");
  CHECK(detail::directory_of("c-1") == ".");
  CHECK(detail::file_of("/m/c-1") == "c-1");
  CHECK(detail::series_of("/m/c-1") == "c");
  CHECK(detail::series_of("/m/best") == "best");
  CHECK(detail::join_path("/m", "c") == "/m/c");
  CHECK(detail::join_path("/m/", "c") == "/m/c");
  CHECK(detail::join_path("/m", "/n/c") == "/n/c");
  CHECK(detail::join_path("", "c") == "c");
  CHECK(detail::temporary_prefix("/m/c-1") == detail::temporary_prefix("/m/c-2"));
  CHECK(detail::relative_path("train/c-1", "train") == "c-1");
  CHECK(detail::relative_path("./train//c-1", "train/") == "c-1");
  CHECK(detail::relative_path("other/c-1", "train") == "../other/c-1");
  CHECK(detail::relative_path("train/x/../c-1", "train") == "c-1");
  CHECK(detail::relative_path("train", "train") == ".");
}

TEST_CASE("parse_shard_file reads the number of shards in a file name", "[checkpoint][file_names]") {
  const auto part = distrib::detail::parse_shard_file("/m/c-1.part-00001-of-00003");
  REQUIRE(part);
  CHECK(part->prefix == "/m/c-1");
  CHECK(part->part);
  CHECK(part->shards == 3);
  const auto data = distrib::detail::parse_shard_file("c-1.data-00000-of-99999");
  REQUIRE(data);
  CHECK_FALSE(data->part);
  CHECK(data->shards == 99'999);
  for (const char* other : {"", "c-1.index", "c-1.part-00003-of-00003", "c-1.part-0000x-of-00003",
                            "c-1.part-00000-if-00003", "c-1.port-00000-of-00003", "c-1.part-00000-of-0000 "})
    CHECK_FALSE(distrib::detail::parse_shard_file(other));
}

TEST_CASE("prefix_of_file finds the prefix in a file name", "[checkpoint][file_names]") {
  const std::string names[] = {"c-1.index", "c-1.data-00000-of-00001", "c-1.part-00001-of-00003"};
  for (const std::string& name : names) {
    CHECK(distrib::detail::prefix_of_file(name) == "c-1");
    CHECK(distrib::detail::prefix_of_file("/m.index/" + name) == "/m.index/c-1");
  }
  for (const char* other : {"", "c-1", "c-1.meta", ".saving.c.index", "/m/.saving.c.index", "index"})
    CHECK(distrib::detail::prefix_of_file(other).empty());
}
