// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/finished_job.hpp>

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/ps/cut/cut_store.hpp>
#include <distrib/ps/cut/initial_cut.hpp>

#include "ps/loopback_job.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <fstream>

using namespace distrib;

TEST_CASE("finished_checkpoint: only a checkpoint of the last step of a job counts", "[ps]") {
  const support::TempDirectory directory;
  const std::string path = directory.path().string();
  CHECK(finished_checkpoint("").empty());
  CHECK(finished_checkpoint(path).empty());

  const Job job = loopback_job::make(1, 1, 8);
  CutStore store{{path, 4, {.max_to_keep = 5}}, job, 0, distrib::JobUpdaters{Momentum{}}};
  Cut cut = initial_cut(job, ShardLayout{job, 0}, distrib::JobUpdaters{Momentum{}});
  cut.step = 4;
  store.save(cut);
  CHECK(finished_checkpoint(path).empty());
  cut.step = 8;
  store.save(cut);
  CHECK(finished_checkpoint(path) == path + "/model.ckpt-8");
  for (const char* state : {"damaged", ""}) {  // without a readable state file the newest index counts
    std::ofstream{directory / "checkpoint"} << state;
    CHECK(finished_checkpoint(path) == path + "/model.ckpt-8");
  }
  for (const char* named : {"/old/place/model.ckpt-8", "inference_model"}) {  // the state file names what is not there
    CAPTURE(named);
    std::ofstream{directory / "checkpoint"} << "model_checkpoint_path: \"" << named << "\"\n";
    CHECK(finished_checkpoint(path) == path + "/model.ckpt-8");
  }

  const std::vector<float> value{1};  // the state file names another program's checkpoint, which is there
  const std::vector<distrib::BundlePart> exported{
      {{{"w", distrib::DType::float32, {1}, distrib::Slice::whole({1}), std::as_bytes(std::span{value})}}, {}}};
  perform(distrib::plan_bundle((directory / "inference_model").string(), exported));
  CHECK(finished_checkpoint(path) == path + "/model.ckpt-8");
}
