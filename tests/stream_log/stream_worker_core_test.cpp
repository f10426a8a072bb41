// SPDX-License-Identifier: Apache-2.0
#include <distrib/stream_log/stream_worker_core.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace {

using distrib::SharedStreamLog;
using distrib::StreamHello;
using distrib::StreamLogId;

auto log_of_worker(std::uint64_t records, StreamLogId id) -> SharedStreamLog {
  distrib::StreamLog log{1, {0}};
  log.set_id(id);
  for (std::uint64_t i = 0; i < records; ++i) log.append(distrib::StreamRange{"events", i, i + 1, {i, 1}, {i + 1, 1}});
  return std::make_shared<const distrib::StreamLog>(log);
}

/// Actions as text, and the log of the last `Found`.
struct WorkerStory {
  auto tell() -> std::string {
    std::string text;
    for (const distrib::StreamWorkerAction& action : std::exchange(out, {})) {
      if (!text.empty()) text += ", ";
      if (const auto* const join = std::get_if<distrib::stream_action::Join>(&action)) {
        text += "join " + std::to_string(join->shard);
      } else if (const auto* const born = std::get_if<distrib::stream_action::Born>(&action)) {
        text += "born " + std::to_string(born->number);
      } else if (const auto* const seal = std::get_if<distrib::stream_action::Seal>(&action)) {
        text += "seal " + std::to_string(seal->shard) + " with " + std::to_string(seal->id.number);
      } else if (const auto* const found = std::get_if<distrib::stream_action::Found>(&action)) {
        text += "found " + std::to_string(found->id.number) + " with " + std::to_string(found->log->records());
      } else if (const auto* const give = std::get_if<distrib::stream_action::GiveLog>(&action)) {
        text += "give log to " + std::to_string(give->shard);
      } else if (const auto* const want = std::get_if<distrib::stream_action::Want>(&action)) {
        text += "want " + std::to_string(want->records);
      } else if (std::holds_alternative<distrib::stream_action::OtherLife>(action)) {
        text += "other life";
      } else if (std::holds_alternative<distrib::stream_action::Ready>(action)) {
        text += "ready";
      } else if (std::holds_alternative<distrib::stream_action::BeginAgain>(action)) {
        text += "begin again";
      } else {
        text += "serve " + std::to_string(std::get<distrib::stream_action::Serve>(action).shard);
      }
    }
    return text;
  }

  distrib::StreamWorkerActions out;
};

struct RunningWorker : WorkerStory {
  RunningWorker() {
    core.begin(out);
    core.joined(0, StreamHello{{5, 5}, true, true, log_of_worker(3, {5, 5})}, out);
    core.joined(1, StreamHello{{5, 5}, true, true, nullptr}, out);
    (void)tell();
  }
  distrib::StreamWorkerCore core{2, *log_of_worker(0, {})};
};

}  // namespace

TEST_CASE("a worker is ready when all shards have the log of one life") {
  WorkerStory story;
  distrib::StreamWorkerCore core{2, *log_of_worker(0, {})};
  core.begin(story.out);
  CHECK(story.tell() == "join 0, join 1");
  core.joined(0, StreamHello{{5, 5}, true, true, log_of_worker(3, {5, 5})}, story.out);
  CHECK(story.tell() == "other life");
  CHECK_FALSE(core.follows({5, 5}));
  core.joined(1, StreamHello{{5, 5}, true, true, nullptr}, story.out);
  CHECK(story.tell() == "ready");
  CHECK(core.follows({5, 5}));
  CHECK_FALSE(core.follows({5, 6}));
  CHECK(core.log()->records() == 3);
  core.begin(story.out, false);
  CHECK(story.tell().empty());
  CHECK_FALSE(core.follows({5, 5}));
}

TEST_CASE("a worker seals the other shards and gives shard 0 the longest copy that came from a log") {
  WorkerStory story;
  distrib::StreamWorkerCore core{3, *log_of_worker(0, {})};
  core.begin(story.out);
  (void)story.tell();
  core.joined(0, StreamHello{{9, 9}, false, false, log_of_worker(8, {5, 5})}, story.out);
  core.joined(1, StreamHello{{5, 5}, true, true, nullptr}, story.out);
  core.joined(2, StreamHello{{5, 5}, true, true, nullptr}, story.out);
  CHECK(story.tell() == "seal 1 with 9, seal 2 with 9");
  core.sealed(1, {9, 9}, log_of_worker(4, {5, 5}), true, story.out);
  CHECK(story.tell().empty());
  core.sealed(2, {9, 9}, log_of_worker(6, {5, 5}), true, story.out);
  CHECK(story.tell() == "found 9 with 6");  // not the 8 of a cut
  core.joined(0, StreamHello{{9, 9}, true, true, log_of_worker(6, {9, 9})}, story.out);
  CHECK(story.tell() == "other life, seal 1 with 9, seal 2 with 9");
  core.joined(1, StreamHello{{9, 9}, false, true, nullptr}, story.out);
  core.joined(2, StreamHello{{9, 9}, true, true, nullptr}, story.out);
  CHECK(story.tell() == "give log to 1");
  core.joined(1, StreamHello{{9, 9}, true, true, nullptr}, story.out);
  CHECK(story.tell() == "ready");
}

TEST_CASE("the log of a new job is the one with which the job begins") {
  WorkerStory story;
  distrib::StreamWorkerCore core{1, *log_of_worker(0, {})};
  core.begin(story.out);
  (void)story.tell();
  core.joined(0, StreamHello{{9, 9}, false, false, nullptr}, story.out);
  CHECK(story.tell() == "found 9 with 0");
}

TEST_CASE("a life that is not later than what others know is replaced by a later one") {
  WorkerStory story;
  distrib::StreamWorkerCore core{2, *log_of_worker(0, {})};
  core.begin(story.out);
  (void)story.tell();
  core.joined(1, StreamHello{{12, 1}, true, true, nullptr}, story.out);
  core.joined(0, StreamHello{{9, 9}, false, false, nullptr}, story.out);
  CHECK(story.tell() == "born 13");
  core.joined(0, StreamHello{{13, 9}, false, false, nullptr}, story.out);
  CHECK(story.tell() == "seal 1 with 13");
}

TEST_CASE("two workers that open a log at once do not ask for a later life") {
  WorkerStory story;
  distrib::StreamWorkerCore core{2, *log_of_worker(0, {})};
  core.begin(story.out);
  (void)story.tell();
  core.joined(1, StreamHello{{9, 9}, false, true, nullptr}, story.out);  // the other worker has sealed it
  core.joined(0, StreamHello{{9, 9}, false, false, nullptr}, story.out);
  CHECK(story.tell() == "seal 1 with 9");
}

TEST_CASE("a worker that runs serves a shard that came back, and begins again when shard 0 did") {
  RunningWorker worker;
  worker.core.joined(1, StreamHello{{5, 5}, true, true, nullptr}, worker.out);
  CHECK(worker.tell() == "serve 1");
  worker.core.joined(1, StreamHello{{3, 5}, true, true, nullptr}, worker.out);
  CHECK(worker.tell() == "seal 1 with 5");
  worker.core.sealed(1, {5, 5}, nullptr, true, worker.out);
  CHECK(worker.tell() == "give log to 1");
  worker.core.joined(1, StreamHello{{7, 7}, true, true, nullptr}, worker.out);
  CHECK(worker.tell() == "born 8");
  worker.core.joined(0, StreamHello{{8, 5}, false, true, log_of_worker(3, {5, 5})}, worker.out);
  CHECK(worker.tell() == "begin again");
}

TEST_CASE("a worker that waits for a shard goes on with a new life of shard 0") {
  WorkerStory story;
  distrib::StreamWorkerCore core{2, *log_of_worker(0, {})};
  core.begin(story.out);
  core.joined(0, StreamHello{{5, 5}, true, true, log_of_worker(3, {5, 5})}, story.out);
  core.joined(1, StreamHello{{7, 7}, true, true, nullptr}, story.out);
  CHECK(story.tell() == "join 0, join 1, other life, born 8");
  core.joined(0, StreamHello{{8, 5}, false, true, log_of_worker(3, {5, 5})}, story.out);
  CHECK(story.tell() == "seal 1 with 8");
}

TEST_CASE("a worker asks once for a log that is long enough, and passes the end on") {
  RunningWorker worker;
  worker.core.want(4, worker.out);
  worker.core.want(4, worker.out);
  CHECK(worker.tell() == "want 4");
  worker.core.hear(nullptr, worker.out);
  worker.core.hear(log_of_worker(3, {5, 5}), worker.out);
  worker.core.want(4, worker.out);
  CHECK(worker.tell().empty());
  worker.core.joined(0, StreamHello{{5, 5}, true, true, log_of_worker(3, {5, 5})}, worker.out);
  worker.core.want(4, worker.out);
  CHECK(worker.tell() == "serve 0, want 4");
  auto closed = std::make_shared<distrib::StreamLog>(*log_of_worker(4, {5, 5}));
  closed->append(distrib::StreamEnd{});
  worker.core.hear(closed, worker.out);
  CHECK(worker.tell() == "give log to 1");
  worker.core.hear(log_of_worker(3, {5, 5}), worker.out);
  CHECK(worker.core.log()->is_closed());
  worker.core.hear(log_of_worker(2, {6, 6}), worker.out);
  CHECK(worker.tell() == "other life");
  CHECK(worker.core.id() == StreamLogId{6, 6});
}
