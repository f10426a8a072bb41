// SPDX-License-Identifier: Apache-2.0
// One shard of a job of two shards that saves its cuts in an object store, for s3.py, which kills it in uploads. Each
// cut is an upload of parts. Server, region and keys come from the environment.
//
// usage: cut_uploads URL SHARD
//
// Prints the step of its newest cut, 0 if it has none. Then it reads commands, and answers each with the same line:
// save STEP   saves a cut; those of even steps are wanted
// drop STEP   no worker needs the cuts up to this step
// look STEP   looks whether it was followed, as a shard that stands still
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/cut/object_cuts.hpp>
#include <distrib/remote/s3/s3_stores.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace {

constexpr std::uint32_t shards = 2;
constexpr std::int64_t elements = std::int64_t{6} << 20;  // 12 MiB a shard
constexpr std::size_t part_bytes = std::size_t{5} << 20;

auto job_of_two_shards() -> distrib::Job {
  distrib::Job job;
  job.shards_per_task = shards;
  job.ranks = 1;
  job.total_steps = 1'000'000;
  job.cut_interval = 1;
  job.updater = "sgd learning_rate=1";
  job.variables = {{"v", distrib::DType::float32, {elements}, distrib::ZerosInitializer{}}};
  for (std::uint32_t shard = 0; shard < shards; ++shard)
    job.parts.push_back({0, distrib::Slice::along({elements}, 0, elements / shards * shard, elements / shards), shard});
  return job;
}

// As `s3_stores`, with short parts.
auto stores_with_short_parts() -> distrib::OpenObjectStore {
  const auto sessions = std::make_shared<distrib::detail::S3Sessions>(distrib::S3Options{});
  return [sessions](const std::string& url, distrib::Error& error) -> distrib::ObjectDirectory {
    const distrib::S3Location location = distrib::S3Location::parse(url, error);
    distrib::throw_if(error);
    auto session = sessions->open(location, error);
    distrib::throw_if(error);
    return {distrib::AnyObjectStore{distrib::detail::S3Bucket{std::move(session), part_bytes}}, location.key, url};
  };
}

void save(distrib::ObjectCuts& cuts, distrib::Step step) {
  auto block = std::make_shared<distrib::AlignedBuffer>(elements / shards * sizeof(float));
  std::ranges::fill(block->as<float>(), static_cast<float>(step));
  const distrib::Cut cut{step, std::move(block), {}, {}};
  cuts.save(std::span{&cut, 1});
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  if (argc != 3) return 64;
  distrib::ObjectAccess access;
  access.open = stores_with_short_parts();
  access.owner = distrib::this_process("/job:ps/task:" + std::string{argv[2]}, "");
  std::random_device random;
  access.nonce = (std::uint64_t{random()} << 32) + random();
  access.pause = [](std::chrono::milliseconds time) { return std::this_thread::sleep_for(time), true; };
  access.tell = [](const std::string& text) { std::cerr << text << '\n'; };
  const distrib::CutOwner owner{job_of_two_shards(),
                                static_cast<std::uint32_t>(std::stoul(argv[2])),
                                {argv[1], 2, {.max_to_keep = 2}},
                                {distrib::AnyUpdater{distrib::Sgd{}}}};
  distrib::ObjectCuts cuts{owner, access};
  distrib::CutWork found;
  cuts.open(found);
  std::cout << (found.cuts.empty() ? 0 : found.cuts.back().step) << std::endl;
  std::set<distrib::Step> listed;
  for (const distrib::DurableCut& cut : found.cuts) listed.insert(cut.step);
  distrib::Step step = 0;
  for (std::string command; std::cin >> command >> step;) {
    if (command == "save") save(cuts, *listed.insert(step).first);
    else if (command == "look") cuts.look();
    else
      for (; !listed.empty() && *listed.begin() <= step; listed.erase(listed.begin()))
        cuts.drop(*listed.begin(), false);
    std::cout << command << ' ' << step << std::endl;
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
