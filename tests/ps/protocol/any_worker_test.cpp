// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/any_worker.hpp>

#include "ps/story.hpp"
#include "support/actions.hpp"
#include "support/catch.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

using distrib::AnyWorker;
using distrib::Job;
using story::block;
using Texts = std::vector<std::string>;

namespace {

/// Records the actions of a worker's core.
struct WorkerTold final : distrib::WorkerSink {
  support::WorkerActions actions;
  void operator()(distrib::SendJoin action) override { actions(action); }
  void operator()(distrib::SendPull action) override { actions(std::move(action)); }
  void operator()(distrib::SendPush action) override { actions(std::move(action)); }
  void operator()(distrib::SendRestore action) override { actions(action); }
  void operator()(distrib::SendCatchUp action) override { actions(action); }
  void operator()(distrib::SendSave action) override { actions(action); }
  void operator()(distrib::SendGoodbye action) override { actions(action); }
  void operator()(distrib::SendLeave action) override { actions(action); }
  void operator()(distrib::Prepare action) override { actions(action); }
  void operator()(distrib::Compute action) override { actions(std::move(action)); }
  void operator()(distrib::ReplicasDiffer action) override { actions(action); }
  void operator()(distrib::TellsNoHistory action) override { actions(action); }
  void operator()(distrib::WorkerDone action) override { actions(std::move(action)); }

  auto take() -> Texts {
    Texts texts;
    for (const auto& action : std::exchange(actions, {})) texts.push_back(story::text(action));
    return texts;
  }
};

}  // namespace

TEST_CASE("AnyWorker: passes the events of a synchronous job to its core", "[ps]") {
  WorkerTold out;
  const std::unique_ptr<AnyWorker> worker = distrib::make_worker(story::job(1, 1, 2, 1), 0);
  worker->start(out);
  worker->joined(0, {0, {0}}, out);
  worker->values(0, 0, block(3), {0, {0}}, out);
  CHECK(out.take() == Texts{"join 0", "pull 0 step=0", "compute step=1 ticket=2 of 1"});
  CHECK(worker->replay_bytes() == 0);
  worker->computed(2, {block(5)}, out, {});
  CHECK(out.take() == Texts{"push 0 step=1 rank=0 common=0", "pull 0 step=1"});
  CHECK(worker->replay_bytes() == block(5)->size());
  CHECK(worker->step() == 1);
  worker->notice(0, {1, {0, 1}}, out);
  CHECK(worker->common_cut() == 1);
  CHECK_FALSE(worker->everything_saved());
  worker->disconnected(0, out);
  worker->reconnected(0, out);
  CHECK(out.take() == Texts{"join 0"});
  worker->joined(0, {1, {0, 1}}, out);
  worker->gone(0, 1, {1, {0, 1}}, out);
  CHECK(out.take() == Texts{"pull 0 step=1", "join 0"});
}

TEST_CASE("AnyWorker: leaves without what is being computed, in both kinds of jobs", "[ps]") {
  for (const distrib::Job& job : {story::job(1, 1, 2, 1), story::asynchronous(story::job(1, 1, 2, 0))}) {
    WorkerTold out;
    const std::unique_ptr<AnyWorker> worker = distrib::make_worker(job, 0);
    worker->start(out);
    worker->joined(0, {0, {0}}, out);
    worker->values(0, 0, block(3), {0, {0}}, out);
    out.take();
    worker->abandon(out);
    CHECK(out.take() == Texts{"leave 0", "left"});
  }
}

TEST_CASE("AnyWorker: passes the events of an asynchronous job to its core, and ignores those that it does not have",
          "[ps]") {
  WorkerTold out;
  const std::unique_ptr<AnyWorker> worker = distrib::make_worker(story::asynchronous(story::job(1, 1, 2, 0)), 0);
  worker->start(out);
  worker->joined(0, {0, {0}}, out);
  worker->values(0, 0, block(3), {0, {0}}, out);
  CHECK(out.take() == Texts{"join 0", "pull 0 step=0", "compute step=1 ticket=1 of 1"});
  worker->computed(1, {block(5)}, out, {});
  CHECK(worker->replay_bytes() == block(5)->size());
  CHECK(out.take() == Texts{"push 0 step=1 rank=0 common=0", "pull 0 step=1"});
  worker->disconnected(0, out);
  worker->gone(0, 1, {1, {1}}, out);
  CHECK(out.take().empty());  // an asynchronous worker ignores both events
  CHECK(worker->common_cut() == 0);
  worker->pushed(0, {1, {1}}, out);
  CHECK_FALSE(worker->everything_saved());  // its second contribution is still to be made
  worker->stop(out);
  CHECK(out.take() == Texts{"leave 0", "left"});
}

TEST_CASE("AnyWorker: passes the events of a worker on demand to its core; a synchronous one ignores them", "[ps]") {
  WorkerTold out;
  const auto job = story::asynchronous(story::job(1, 1, distrib::open_end, 0));
  const std::unique_ptr<AnyWorker> worker = distrib::make_worker(job, 0, {.on_demand = true});
  worker->start(out);
  worker->joined(0, {0, {0}}, out);
  worker->want(out);
  worker->values(0, 0, block(3), {0, {0}}, out);
  CHECK(out.take() == Texts{"join 0", "pull 0 step=0", "compute step=1 ticket=2 of 1"});
  worker->computed(2, {block(5)}, out, {});
  CHECK(out.take() == Texts{"push 0 step=1 rank=0 common=0"});
  CHECK(worker->counted() == 0);
  CHECK(worker->awaits(0));
  worker->pushed(0, {1, {1}}, out);
  CHECK(worker->counted() == 1);
  CHECK_FALSE(worker->awaits(0));
  worker->finish(out);
  CHECK(out.take() == Texts{"goodbye 0", "done"});

  const std::unique_ptr<AnyWorker> synchronous = distrib::make_worker(story::job(1, 1, 2, 1), 0);
  synchronous->want(out);
  synchronous->finish(out);
  CHECK(out.take().empty());
  CHECK(synchronous->counted() == 0);
  CHECK_FALSE(synchronous->awaits(0));
}
