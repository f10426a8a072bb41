// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/progressive_validation.hpp>

#include <distrib/train/builder.hpp>
#include <distrib/train/hooks/show_progress.hpp>
#include <distrib/train/hooks/write_summaries.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"
#include "train/table_model.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

// Writes down what was measured: the step, the number of examples, and the error.
struct HearsValidation {
  std::vector<std::pair<distrib::Step, distrib::Metrics>>* heard;
  void on_validated(const distrib::ValidatedProgressively& event) const {
    heard->emplace_back(event.step, event.metrics);
  }
};

}  // namespace

TEST_CASE("ProgressiveValidation: each batch is measured before it is trained on", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  auto plain = line_job::builder(data).build();
  CHECK(plain.run() == 0);
  std::vector<std::pair<distrib::Step, distrib::Metrics>> heard;
  double losses = 0;
  struct SumsLosses {
    double* sum;
    void on_step(const distrib::StepDone& event) const {
      if (event.step <= 16) *sum += static_cast<double>(event.loss);
    }
  };
  auto trainer = line_job::builder(data)
                     .with_hooks(distrib::ProgressiveValidation{16}, HearsValidation{&heard}, SumsLosses{&losses})
                     .build();
  CHECK(trainer.run() == 0);
  CHECK(trainer.result().parameters_sha256 == plain.result().parameters_sha256);
  REQUIRE(heard.size() == 2);  // 40 steps
  CHECK(heard[0].first == 16);
  CHECK(heard[1].first == 32);
  for (const auto& [step, metrics] : heard) CHECK(metrics.examples == 16 * 3 * 10);
  // The loss of this model is what it measures.
  CHECK(*heard[0].second.find("squared_error") == Approx(losses / 16).epsilon(1e-4));
  CHECK(*heard[1].second.find("squared_error") < *heard[0].second.find("squared_error"));
  CHECK(trainer.result().metrics.examples == 0);
}

TEST_CASE("ProgressiveValidation: of a model with tables", "[train]") {
  const support::TempDirectory directory;
  std::vector<std::pair<distrib::Step, distrib::Metrics>> heard;
  distrib::IoPool pool{2};
  auto trainer = table_model::builder(table_model::write(directory.path()), 2, 2, 20)
                     .with_hooks(distrib::ProgressiveValidation{0}, HearsValidation{&heard})
                     .build(pool);
  CHECK(trainer.run() == 0);
  REQUIRE(heard.size() == 20);
  CHECK(heard.back().first == 20);
  CHECK(heard.back().second.examples == 20);
}
