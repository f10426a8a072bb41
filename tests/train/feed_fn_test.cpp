// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/feed_fn.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <string>
#include <vector>

using distrib::Feed;
using distrib::FeedFn;
using distrib::Rank;
using distrib::Step;

namespace {

/// The line model with gradients that are multiplied by a number that a hook gives.
struct FedModel : LineModel {
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext context) const -> float {
    const float loss = LineModel::gradients(batch, values, gradients, context);
    const float scale = context.feed("scale")[0];
    distrib::get<"weights">(gradients) *= scale;
    distrib::get<"bias">(gradients) *= scale;
    return loss;
  }
};

template <class Model, class... Hooks> auto trainer_of(const std::string& directory, Hooks... hooks) {
  return distrib::train(Model{})
      .with_data(line_model::write(directory).shuffle(3).batch(10))
      .with_hooks(distrib::StopAtStep{10}, hooks...)
      .with_local_mode({.workers = 2})
      .build();
}

template <class Model, class... Hooks> auto hash_of(const std::string& directory, Hooks... hooks) -> std::string {
  auto trainer = trainer_of<Model>(directory, hooks...);
  CHECK(trainer.run() == 0);
  return trainer.result().parameters_sha256;
}

}  // namespace

TEST_CASE("FeedFn: the model gets the numbers of (step, rank)", "[train]") {
  const support::TempDirectory directory;
  const std::string path = directory.path().string();
  const auto fed = [](float first, float then) {
    return FeedFn{[=](Step step, Rank rank) -> Feed {
      return {{"scale", {step == 1 && rank == 0 ? first : then}}, {"unused", {}}};
    }};
  };
  CHECK(hash_of<FedModel>(path, fed(1, 1)) == hash_of<LineModel>(path));
  CHECK(hash_of<FedModel>(path, fed(2, 1)) != hash_of<LineModel>(path));
}

TEST_CASE("FeedFn: a name that nothing feeds, or two hooks do, ends the job", "[train]") {
  const support::TempDirectory directory;
  const std::string path = directory.path().string();
  CHECK_THROWS_WITH(trainer_of<FedModel>(path).run(), ContainsSubstring("nothing feeds 'scale'"));
  const FeedFn one{[](Step, Rank) -> Feed { return {{"scale", {1}}}; }};
  CHECK_THROWS_WITH(trainer_of<FedModel>(path, one, one).run(), ContainsSubstring("'scale' is fed twice"));
}
