// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/any_shard.hpp>

#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/store/shard_store.hpp>

#include "ps/story.hpp"
#include "support/catch.hpp"

using distrib::AnyShard;
using distrib::Cut;
using distrib::Job;
using distrib::Step;
using story::block;
using Texts = std::vector<std::string>;

namespace {

/// Records the actions of a core.
struct Sink final : distrib::ShardSink {
  support::ShardActions actions;
  void operator()(distrib::JoinedReply reply) override { actions(std::move(reply)); }
  void operator()(distrib::NoticeReply reply) override { actions(std::move(reply)); }
  void operator()(distrib::ValuesReply reply) override { actions(std::move(reply)); }
  void operator()(distrib::GoneReply reply) override { actions(std::move(reply)); }
  void operator()(distrib::PushedReply reply) override { actions(std::move(reply)); }
  void operator()(distrib::RefusedReply reply) override { actions(std::move(reply)); }
  void operator()(distrib::CopyCut action) override { actions(action); }
  void operator()(distrib::SaveCut action) override { actions(std::move(action)); }
  void operator()(distrib::LoadCut action) override { actions(action); }
  void operator()(distrib::DropCut action) override { actions(action); }
  void operator()(distrib::SendState action) override { actions(action); }
  void operator()(distrib::ShardDone action) override { actions(action); }

  auto take() -> Texts {
    Texts texts;
    for (const auto& action : std::exchange(actions, {})) texts.push_back(story::text(action));
    return texts;
  }
};

auto job_of(distrib::Consistency consistency, std::string updater = "sgd learning_rate=1") -> Job {
  Job job = story::job(1, 1, 2, 1);
  job.updater = std::move(updater);
  job.consistency = consistency;
  return job;
}

const auto standard_kinds = distrib::shard_kinds(distrib::StandardUpdaters{});

/// Makes the shard of a job whose updaters are known.
auto make(const Job& job, const std::vector<Step>& cuts, const Cut* newest) -> std::unique_ptr<AnyShard> {
  distrib::Error error;
  const auto kind = standard_kinds(job, error);
  REQUIRE_FALSE(error);
  return distrib::make_shard(job, 0, kind, story::cuts_at(cuts, job), newest);
}

auto refusal(const Job& job) -> std::string {
  distrib::Error error;
  static_cast<void>(standard_kinds(job, error));
  if (error) CHECK(error.code == distrib::ps_errc::unknown_updater);
  return error.where;
}

}  // namespace

TEST_CASE("shard_kinds: finds the updaters that a job names", "[ps]") {
  CHECK(refusal(job_of(distrib::BulkSynchronousParallel{})).empty());
  Job job = job_of(distrib::AsynchronousParallel{}, "momentum learning_rate=1 momentum=0.5 use_nesterov=false");
  job.updaters_of = {{"wide/", "sgd learning_rate=0.5"}};
  distrib::Error error;
  const auto kind = standard_kinds(job, error);
  CHECK_FALSE(error);
  REQUIRE(kind.updaters.size() == 2);
  CHECK(kind.updaters[0].slots().size() == 1);
  CHECK(kind.updaters[1].text() == "sgd learning_rate=0.5");
  job.updaters_of[0].updater = "sgd learning_rate=0.50";
  CHECK(refusal(job) == "sgd learning_rate=0.50");
  CHECK(refusal(job_of(distrib::BulkSynchronousParallel{}, "adagrad learning_rate=1")) == "adagrad learning_rate=1");
  CHECK(refusal(job_of(distrib::BulkSynchronousParallel{}, "sgd learning_rate=1.0")) == "sgd learning_rate=1.0");
}

TEST_CASE("AnyShard: passes the events of a synchronous job to its core", "[ps]") {
  const Job job = job_of(distrib::BulkSynchronousParallel{});
  Sink out;
  const auto shard = make(job, {}, nullptr);
  shard->join(10, 0, out);
  shard->pull(10, 1, out, {});
  shard->push(10, {1, 0, block(1)}, out);
  CHECK(out.take() == Texts{"joined 10 k=0 cuts=0", "save 1 w=-1", "values 10 step=1 w=-1 k=1 cuts=0",
                            "pushed 10 step=1 k=1 cuts=0"});
  shard->cut_saved(1, out);
  CHECK(shard->step() == 1);
  CHECK(shard->progress(0).cuts == std::vector<Step>{0, 1});
  CHECK(out.take() == Texts{"notice 10 k=1 cuts=0,1"});
  CHECK_FALSE(has_last_cut(*shard, job));

  const Cut newest{2, block(-7), {}, {}, {}, story::only_lineage(job)};
  const auto back = make(job, {1, 2}, &newest);
  CHECK(has_last_cut(*back, job));
  back->join(10, 0, out);
  back->save(out);  // the cut exists
  back->pull(10, 0, out, {});
  back->push(10, {9, 3, block(1)}, out);
  back->restore(10, 1, out, 0);
  back->cut_loaded({1, block(-3), {}, {}, {}, story::only_lineage(job)}, out);
  back->goodbye(10, out);
  CHECK(back->step() == 1);
  CHECK(out.take() == Texts{"joined 10 k=2 cuts=0,1,2", "gone 10 step=0 k=2 cuts=0,1,2",
                            "refused 10 step=9 rank=3: the job has no such rank: start as many workers as the job has",
                            "load 1", "joined 10 k=1 cuts=0,1,2", "done"});
  back->vacate(0, out);  // it is done already
  back->disconnect(10, out);
  back->restore(11, 0, out, 0);
  CHECK(out.take() == Texts{"load 0"});
  back->cut_loaded({0, block(0), {}, {}}, out);
  CHECK(out.take() == Texts{});  // no peer is joined
}

TEST_CASE("AnyShard: passes the events of an asynchronous job to its core, and ignores those that it does not have",
          "[ps]") {
  Job job = job_of(distrib::StaleSynchronousParallel{.staleness = 0});
  job.ranks = 2;
  Sink out;
  const auto shard = make(job, {}, nullptr);
  shard->join(10, 0, out);
  shard->push(10, {1, 0, block(1)}, out);
  shard->pull(10, 1, out, {});  // parked because of the job's staleness
  shard->restore(10, 0, out, 0);
  shard->cut_loaded({}, out);
  shard->vacate(1, out);
  CHECK(out.take() == Texts{"joined 10 k=0 cuts=0", "save 1 w=-1 applied=1,0", "pushed 10 step=1 k=1 cuts=0"});
  CHECK(shard->step() == 1);
  CHECK(shard->progress(0).done == 1);
  CHECK(shard->progress(1).done == 0);
  CHECK_FALSE(has_last_cut(*shard, job));

  const Cut newest{2, block(-2), {}, {1, 1}};
  const auto back = make(job, {2}, &newest);
  CHECK(back->progress(1) == distrib::Progress{1, {1}});
  CHECK(has_last_cut(*back, job));
}

TEST_CASE("AnyShard: serves rows of tables within the memory budget", "[ps]") {
  const distrib::Consistency modes[] = {distrib::BulkSynchronousParallel{}, distrib::AsynchronousParallel{}};
  for (const distrib::Consistency consistency : modes) {
    CAPTURE(consistency.mode());
    const Job job = story::with_tables(job_of(consistency));
    const std::string applied = consistency.is_synchronous() ? "" : " applied=1";
    Sink out;
    const auto shard = make(job, {}, nullptr);
    shard->join(10, 0, out);
    shard->push(10, {1, 0, block(1, {{5, 2}}, {{1, 3}})}, out);
    shard->pull(10, 1, out, {{{5, 7}, {1}}});
    shard->pull(10, 1, out, {{{5, 7}, {3}}});
    shard->copy_cut(1 << 20, out);
    REQUIRE(out.actions.size() == 6);
    const Cut cut = std::get<distrib::SaveCut>(out.actions[5]).cut;
    CHECK(out.take() == Texts{"joined 10 k=0 cuts=0", "copy", "pushed 10 step=1 k=1 cuts=0",
                              "values 10 step=1 w=-1 rows=6,8,5 k=1 cuts=0",
                              "refused 10 step=1 rank=0: the table has no such row: look up only keys of the table",
                              "save 1 w=-1 keys=5;0,1,2" + applied});
    const auto back = make(job, {1}, &cut);
    back->join(10, 0, out);
    back->pull(10, 1, out, {{{5, 7}, {1}}});
    out.actions.erase(out.actions.begin());
    CHECK(out.take().front().starts_with("values 10 step=1 w=-1 rows=6,8,5 k=1 cuts="));

    distrib::Error error;
    auto kind = standard_kinds(job, error);
    kind.table_budget_bytes = 64 << 10;  // enough for the items and an index of keys
    const auto small = distrib::make_shard(job, 0, kind, {}, nullptr);
    small->push(10, {1, 0, block(1, {{5, 2}})}, out);
    CHECK(out.take() == Texts{"refused 10 step=1 rank=0: a table needs more memory than its budget has: give it "
                              "max_rows, raise the budget, or use more servers"});
    CHECK(small->step() == 0);
    CHECK_THROWS_WITH(distrib::make_shard(job, 0, kind, story::cuts_at({1}, job), &cut),
                      ContainsSubstring("table words"));
    kind.table_budget_bytes = 100;
    CHECK_THROWS_WITH(distrib::make_shard(job, 0, kind, {}, nullptr), ContainsSubstring("table items"));
  }
}
