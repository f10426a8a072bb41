// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/state_file.hpp>

#include "checkpoint/checkpoint_support.hpp"

#include <string>
#include <system_error>
#include <vector>

using distrib::checkpoint_errc;
using distrib::CheckpointState;
using distrib::Error;

using Paths = std::vector<std::string>;

TEST_CASE("parse_checkpoint_state reads what TensorFlow wrote", "[checkpoint][state_file]") {
  const auto text_of = [](const std::string& name) {
    return std::string{distrib::as_text(support::read_file(support::fixtures + name))};
  };
  const std::string partitioned = text_of("partitioned/checkpoint");
  CHECK(distrib::parse_checkpoint_state(partitioned) ==
        CheckpointState{"model.ckpt-1234", {"model.ckpt-1234"}, {}, std::nullopt});
  CHECK(to_string(distrib::parse_checkpoint_state(partitioned)) == partitioned);

  const std::string object = text_of("object/checkpoint");
  CHECK(distrib::parse_checkpoint_state(object) ==
        CheckpointState{"ckpt-1", {"ckpt-1"}, {1795242076.361768}, 1795242075.3298616});
  CHECK(to_string(distrib::parse_checkpoint_state(object)) == object);
}

TEST_CASE("parse_checkpoint_state reads every text form that protobuf allows here", "[checkpoint][state_file]") {
  const auto state = distrib::parse_checkpoint_state(
      "# written by hand\n"
      "all_model_checkpoint_paths:'a', all_model_checkpoint_paths : \"b\" \"c\" ; # two pieces\r\n"
      "model_checkpoint_path: \"\\x41\\101\\n\\\"\\\\\\'\\377\"\n"
      "all_model_checkpoint_timestamps: 1 all_model_checkpoint_timestamps: -2.5e3");
  CHECK(state.all_model_checkpoint_paths == Paths{"a", "bc"});
  CHECK(state.model_checkpoint_path == "AA\n\"\\'\xff");
  CHECK(state.all_model_checkpoint_timestamps == std::vector<double>{1, -2500});
  CHECK(distrib::parse_checkpoint_state(to_string(state)) == state);
}

TEST_CASE("texts that are not a valid state are refused", "[checkpoint][state_file]") {
  const char* const cases[] = {
      "",
      "not a proto",
      "model_checkpoint_path",
      "model_checkpoint_path:",
      "model_checkpoint_path: c",
      "model_checkpoint_path: \"c",
      "model_checkpoint_path: \"c\nd\"",
      "model_checkpoint_path: \"c\\",
      "model_checkpoint_path: \"c\\q\"",
      "model_checkpoint_path: \"c\\777\"",
      "model_checkpoint_path: \"c\\x\"",
      "model_checkpoint_path: \"c\" other_field: 1",
      "model_checkpoint_path: \"c\" all_model_checkpoint_timestamps: \"1\"",
      "model_checkpoint_path: \"c\" last_preserved_timestamp: 1x",
      "all_model_checkpoint_paths: \"c\"",
      "model_checkpoint_path:'c' all_model_checkpoint_paths:'c' last_preserved_timestamp:1 x",
      "model_checkpoint_path:'c' all_model_checkpoint_paths:'c' all_model_checkpoint_timestamps:1.5.2",
      "model_checkpoint_path:'c' all_model_checkpoint_timestamps:1",
  };
  for (const char* text : cases) {
    CAPTURE(text);
    Error error;
    CHECK_FALSE(distrib::parse_checkpoint_state(text, error));
    CHECK(error.code == checkpoint_errc::corrupt_state);
    CHECK_THROWS_AS(distrib::parse_checkpoint_state(text), std::system_error);
  }
}

TEST_CASE("make_checkpoint_state follows TensorFlow's rules", "[checkpoint][state_file]") {
  Error error;
  auto state = distrib::make_checkpoint_state("train", "train/model.ckpt-20",
                                              {"train/model.ckpt-10", "train/model.ckpt-20"}, {}, error);
  REQUIRE(state);
  CHECK(state->model_checkpoint_path == "model.ckpt-20");
  CHECK(state->all_model_checkpoint_paths == Paths{"model.ckpt-10", "model.ckpt-20"});
  CHECK(distrib::state_file_name("train") == "train/checkpoint");

  state = distrib::make_checkpoint_state("/m", "/m/c-3", {"/m/c-1"}, {}, error);
  REQUIRE(state);
  CHECK(state->all_model_checkpoint_paths == Paths{"/m/c-1", "/m/c-3"});

  CHECK_FALSE(distrib::make_checkpoint_state("/m", "/m/c-2", {"/m/c-1", "/m/c-2"}, {1.0}, error));
  CHECK(error.code == checkpoint_errc::mismatch);
}

TEST_CASE("a state file is replaced in one step", "[checkpoint][state_file]") {
  const auto plan = distrib::plan_state_file("d", {"c-1", {"c-1"}, {}, std::nullopt});
  REQUIRE(plan.size() == 4);
  CHECK(distrib::as_text(plan[0].owned) == "model_checkpoint_path: \"c-1\"\nall_model_checkpoint_paths: \"c-1\"\n");
  CHECK(plan[1].path == plan[0].path);
  CHECK(plan[2].path == "d/checkpoint");
  CHECK(plan[3].path == "d");
  const auto other = distrib::plan_state_file("d", {"c-1", {"c-1"}, {}, std::nullopt}, "7");
  CHECK(other[0].path == plan[0].path + "-7");
}
