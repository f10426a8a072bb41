// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/keep_newest.hpp>

#include "support/catch.hpp"

#include <string>
#include <variant>
#include <vector>

TEST_CASE("the state file is written before older checkpoints go", "[checkpoint][keep_newest]") {
  const std::vector<distrib::SavedCheckpoint> saved{
      {"d/best", {"d/best.index", "d/best.data-00000-of-00001"}},
      {"d/c-1", {"d/c-1.index", "d/c-1.data-00000-of-00001", "d/c-1.part-00000-of-00002"}},
      {"d/c-2", {"d/c-2.index"}},
      {"d/c-3", {}},               // gone already
      {"d/c-4", {"d/c-4.index"}},  // the one that is saved again
  };
  std::string story;
  std::string state;
  for (const auto& action : distrib::plan_keep_newest("d", "c-4", saved, {.max_to_keep = 2}, "00001-of-00002")) {
    if (action.kind == distrib::FileAction::Kind::write) {
      story += "write " + action.path + "\n";
      state = distrib::as_text(action.owned);
    }
    if (action.kind == distrib::FileAction::Kind::rename) story += action.from + " -> " + action.path + "\n";
    if (action.kind == distrib::FileAction::Kind::remove) story += "remove " + action.path + "\n";
  }
  CHECK(story ==
        "write d/.saving.checkpoint-00001-of-00002\n"
        "d/.saving.checkpoint-00001-of-00002 -> d/checkpoint\n"
        "remove d/c-1.index\n"
        "remove d/c-1.data-00000-of-00001\n"
        "remove d/c-1.part-00000-of-00002\n");
  CHECK(state ==
        "model_checkpoint_path: \"c-4\"\n"
        "all_model_checkpoint_paths: \"best\"\n"
        "all_model_checkpoint_paths: \"c-2\"\n"
        "all_model_checkpoint_paths: \"c-4\"\n");
}

TEST_CASE("without a limit nothing goes", "[checkpoint][keep_newest]") {
  std::vector<distrib::SavedCheckpoint> saved;
  for (int step = 0; step < 9; ++step)
    saved.push_back({"d/c-" + std::to_string(step), {"d/c-" + std::to_string(step) + ".index"}});
  for (const auto& action : distrib::plan_keep_newest("d", "c-9", saved, {.max_to_keep = 0}))
    CHECK_FALSE(action.kind == distrib::FileAction::Kind::remove);
}
