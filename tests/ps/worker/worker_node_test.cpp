// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/worker_node.hpp>

#include <distrib/core/sha256.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/server_core.hpp>

#include "ps/story.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

using distrib::Goodbye;
using distrib::Join;
using distrib::JoinItem;
using distrib::Leave;
using distrib::Progress;
using distrib::ps_errc;
using distrib::Pull;
using distrib::PullReply;
using distrib::Push;
using distrib::Restore;
using distrib::rpc_errc;
using distrib::Save;
using distrib::Step;
using story::block;
using Cuts = std::vector<Step>;
using Texts = std::vector<std::string>;
using namespace std::chrono_literals;

namespace {

struct NodeEvent {
  const char* what;  ///< Describes the event; shown if the check fails.
  std::function<void()> happens;
  Texts expected;  ///< What the shards must receive, and the calls of the shell that must follow.
};

/// Both ends of a connection, and the calls that the shard has received and not answered.
struct Link {
  explicit Link(distrib::Instant now) : client{options(), now}, server{distrib::RpcServerOptions{}, now} {}

  static auto options() -> distrib::RpcClientOptions {
    distrib::RpcClientOptions options;
    options.categories = distrib::ps_categories();
    return options;
  }

  distrib::ClientCore client;
  distrib::ServerCore server;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> calls;
};

/// Rank 1 of 2 in a node, with connections that the test carries by hand. "0 push 3 of 1 common=0 w=4": shard 0
/// received a push. The contribution of step k has k in every block.
struct NodeBench : distrib::WorkerShell {
  explicit NodeBench(const distrib::Job& of, distrib::WorkerOptions options = {}, distrib::Rank rank = 1)
      : job{of}, level{options.level}, node{job, rank, options, {"the directory", 7, {.max_to_keep = 3}}, *this} {}

  // --- events ---

  void connect(std::uint32_t shard) {
    links[shard] = std::make_unique<Link>(now);
    node.connected(shard, links[shard]->client, now);
    carry();
  }
  auto connects(std::uint32_t shard) {
    return [=, this] { connect(shard); };
  }
  auto loses(std::uint32_t shard) {
    return [=, this] {
      node.disconnected(shard, now);
      links[shard] = nullptr;
      carry();
    };
  }

  /// Returns the oldest call of M that the shard has received and not answered, and takes it off the list.
  template <class M>
  auto take_call(std::uint32_t shard) -> std::uint64_t {
    auto& calls = links[shard]->calls;
    const auto found = std::ranges::find(calls, M::id, [](const auto& call) { return call.first; });
    REQUIRE(found != calls.end());
    const std::uint64_t call = found->second;
    calls.erase(found);
    return call;
  }
  template <class M>
  auto reply(std::uint32_t shard, typename M::Reply answer = {}) {
    return [=, this] {
      distrib::WireWriter head;
      const auto body = distrib::RpcCodec<typename M::Reply>::encode(answer, head).body;
      links[shard]->server.reply(take_call<M>(shard), head.view(), body);
      carry();
    };
  }
  template <class M>
  auto fails(std::uint32_t shard, std::error_code code, std::string where = {}) {
    return [=, this] {
      links[shard]->server.fail(take_call<M>(shard), code, where);
      carry();
    };
  }
  /// Sends an item on the newest stream.
  auto item(std::uint32_t shard, JoinItem said) {
    return [=, this] {
      std::uint64_t stream = 0;
      for (const auto& [method, call] : links[shard]->calls)
        if (method == Join::id) stream = call;
      distrib::WireWriter head;
      said.encode(head);
      CHECK(links[shard]->server.item(stream, head.view()));
      carry();
    };
  }
  auto joined(std::uint32_t shard, Step k, Cuts cuts = {0}) {
    return item(shard, {JoinItem::Kind::joined, {k, cuts}, 0});
  }
  auto notice(std::uint32_t shard, Step k, Cuts cuts) { return item(shard, {JoinItem::Kind::notice, {k, cuts}, 0}); }
  auto ends(std::uint32_t shard) {
    return [=, this] {
      links[shard]->server.end_stream(take_call<Join>(shard));
      carry();
    };
  }
  auto values(std::uint32_t shard, Step k, Cuts cuts = {0}) {
    return reply<Pull>(shard, {{k, cuts}, false, k, block(static_cast<float>(k))});
  }
  auto gone(std::uint32_t shard, Step k, Cuts cuts = {0}) { return reply<Pull>(shard, {{k, cuts}, true, 0, nullptr}); }
  auto pushed(std::uint32_t shard, Step k, Cuts cuts = {0}) { return reply<Push>(shard, {{k, cuts}, false}); }
  auto computed() {
    return [this] {
      node.computed(work.ticket, std::vector(job.shards(), block(static_cast<float>(work.step))), now);
      carry();
    };
  }
  /// With tables: contribution t needs the word t of shard 0 and the item t % 3 of shard 1.
  static auto wanted_of(Step step) -> std::vector<distrib::WantedRows> {
    return {story::wanted({{step}, {}}), story::wanted({{}, {step % 3}})};
  }
  auto prepared(Step step) {
    return [=, this] {
      node.prepared(step, wanted_of(step), now);
      carry();
    };
  }
  auto computed(Step next) {
    return [=, this] {
      node.computed(work.ticket, std::vector(job.shards(), block(static_cast<float>(work.step))), now, wanted_of(next));
      carry();
    };
  }
  auto rows(std::uint32_t shard, Step k, std::vector<float> of) {
    return reply<Pull>(shard, {{k, {0}}, false, k, story::values_block(static_cast<float>(k), of)});
  }
  auto stop() {
    return [this] {
      node.stop(now);
      carry();
    };
  }

  void tell(const std::vector<NodeEvent>& events) {
    for (const NodeEvent& event : events) {
      CAPTURE(event.what);
      told.clear();
      event.happens();
      CHECK(told == event.expected);
    }
  }

  // --- the wires ---

  /// Carries bytes until neither side has more. What shards receive is recorded after the calls of the shell.
  void carry() {
    for (bool more = true; more;) {
      more = false;
      for (std::uint32_t shard = 0; shard < job.num_replicas(); ++shard)
        if (links[shard] != nullptr) more = carry(shard) || more;
    }
  }
  auto carry(std::uint32_t shard) -> bool {
    Link& link = *links[shard];
    const auto hear_all = [&] {
      for (distrib::ServerEvent event; link.server.next(now, event);) hear(shard, event);
    };
    const auto tell_all = [&] {
      for (distrib::ClientEvent event; link.client.next(now, event);) node.happened(shard, event, now);
    };
    const bool up = move(link.client, link.server, hear_all);
    const bool down = move(link.server, link.client, tell_all);
    return up || down;
  }
  auto move(auto& from, auto& to, auto take) -> bool {
    const stream::Bytes bytes = stream::take_output(from, now);
    for (distrib::ByteView rest = bytes; !rest.empty() && to.reads(); take(), to.keep())
      rest = rest.subspan(stream::give(to, rest, rest.size(), now));
    take();
    return !bytes.empty();
  }

  void hear(std::uint32_t shard, const distrib::ServerEvent& event) {
    auto& calls = links[shard]->calls;
    const std::string who = std::to_string(shard) + " ";
    if (event.kind == distrib::ServerEvent::Kind::request) {
      calls.emplace_back(event.method, event.call);
      told.push_back(who + text(event));
    } else if (event.kind == distrib::ServerEvent::Kind::cancelled) {
      const auto call = std::ranges::find(calls, event.call, [](const auto& one) { return one.second; });
      REQUIRE(call != calls.end());
      told.push_back(who + "takes back " + std::string{name(call->first)});
      calls.erase(call);
    }
  }

  static auto name(std::uint32_t method) -> std::string_view {
    return method == Join::id ? "join" : method == Pull::id ? "pull" : method == Push::id ? "push" : "another one";
  }

  auto text(const distrib::ServerEvent& event) -> std::string {
    CHECK(event.deadline == distrib::Instant::max());
    const auto read = [&](auto request) {
      REQUIRE(distrib::RpcCodec<decltype(request)>::decode({event.head, event.body}, request));
      return request;
    };
    if (event.method == Join::id) {
      const auto request = read(distrib::JoinRequest{});
      CHECK(request.job_hash == distrib::to_hex(distrib::job_hash(job)));
      CHECK((request.job_text.empty() || request.job_text == to_text(job)));
      CHECK(request.arithmetic == job.arithmetic);
      CHECK(request.level == level);
      return "join " + std::to_string(request.rank) + (request.has_begun ? ", has begun" : "") +
             (request.job_text.empty() ? "" : " with the text, cuts in " + request.cuts.directory);
    }
    if (event.method == Pull::id) {
      const auto request = read(distrib::PullRequest{});
      return "pull " + std::to_string(request.step) + story::text(distrib::WantedRows{request.body, 0});
    }
    if (event.method == Push::id) {
      const auto request = read(distrib::PushRequest{});
      return "push " + std::to_string(request.step) + " of " + std::to_string(request.rank) +
             " common=" + std::to_string(request.common_cut) + (request.body ? story::text(request.body) : "");
    }
    if (event.method == distrib::PushSum::id) {
      const auto request = read(distrib::PushSumRequest{});
      return "push " + std::to_string(request.step) + " of " + std::to_string(request.rank) + "/" +
             std::to_string(request.level) + " common=" + std::to_string(request.common_cut) +
             story::text(request.body);
    }
    if (event.method == Restore::id) return "restore " + std::to_string(read(distrib::RestoreRequest{}).cut);
    if (event.method == distrib::CatchUp::id) return "catch up " + std::to_string(read(distrib::CatchUpRequest{}).done);
    if (event.method == Save::id) return "save";
    if (event.method == Leave::id) return "leave";
    return event.method == Goodbye::id ? "goodbye" : "what?";
  }

  // --- the calls of the shell ---

  void prepare(distrib::Prepare asked) override { told.push_back("shell prepare " + std::to_string(asked.step)); }
  void compute(distrib::Compute asked) override {
    std::string text = "shell compute " + std::to_string(asked.step) + " of";
    for (const auto& values_of_shard : asked.values)
      text += values_of_shard->size() == 0 ? " nothing" : story::text(values_of_shard);
    told.push_back(text);
    work = std::move(asked);
  }
  void sent(std::uint32_t shard) override { CHECK(node.is_connected(shard)); }
  void moved(Step counted) override { counts.push_back(counted); }
  void saved(Step step) override { told.push_back("shell saved " + std::to_string(step)); }
  void not_repeatable(Step step) override { told.push_back("shell not repeatable " + std::to_string(step)); }
  void done(distrib::WorkerDone end) override {
    std::string text = end.left ? "shell left" : "shell done";
    for (const auto& result : end.result) text += story::text(result);
    told.push_back(text);
  }
  void failed(const distrib::Error& why) override {
    told.push_back("shell failed: " + why.code.message() + " (" + why.where + ")");
  }

  distrib::Instant now{1'000h};
  Texts told;
  Cuts counts;
  distrib::Compute work;
  distrib::Job job;
  std::uint32_t level;
  distrib::WorkerNode node;
  std::vector<std::unique_ptr<Link>> links = std::vector<std::unique_ptr<Link>>(job.num_replicas());
};

auto node_job(std::uint32_t shards, Step total, Step interval) -> distrib::Job {
  return story::job(shards, 2, total, interval);
}

}  // namespace

TEST_CASE("WorkerNode: a job from the first Join to the goodbyes", "[ps]") {
  NodeBench bench{node_job(2, 1, 0)};
  CHECK_FALSE(bench.node.is_connected(0));
  bench.tell({
      {"join", bench.connects(0), {"0 join 1"}},
      {"join", bench.connects(1), {"1 join 1"}},
      {"waits for all", bench.joined(0, 0), {}},
      {"values", bench.joined(1, 0), {"0 pull 0", "1 pull 0"}},
      {"waits for all", bench.values(0, 0), {}},
      {"all values have arrived", bench.values(1, 0), {"shell compute 1 of w=0 w=0"}},
      {"made", bench.computed(), {"0 push 1 of 1 common=0 w=1", "0 pull 1", "1 push 1 of 1 common=0 w=1", "1 pull 1"}},
      {"counted", bench.pushed(0, 1), {}},
      {"stored", bench.pushed(1, 0), {}},
      {"values", bench.values(0, 1), {}},
      {"values", bench.values(1, 1), {}},
      {"durable", bench.notice(0, 1, {0, 1}), {}},
      {"durable on all: saved is reported before done",
       bench.notice(1, 1, {0, 1}),
       {"shell saved 1", "shell done", "0 goodbye", "0 takes back join", "1 goodbye", "1 takes back join"}},
  });
  CHECK(bench.node.over());
  CHECK(bench.node.step() == 1);
  CHECK(bench.counts == Cuts{0, 0, 1, 1});
  CHECK_FALSE(bench.links[0]->client.finished());  // its goodbye is not answered yet
  bench.tell({{"goodbye", bench.reply<Goodbye>(0), {}}, {"goodbye", bench.reply<Goodbye>(1), {}}});
  CHECK(bench.links[0]->client.finished());
  CHECK(bench.links[1]->client.finished());
  bench.tell({
      {"the node is over", bench.loses(0), {}},
      {"it does not join", bench.connects(0), {}},
      {"nothing is made", bench.computed(), {}},
      {"it does not leave", bench.stop(), {}},
  });
}

TEST_CASE("WorkerNode: sends the job's text to a shard that asks, in every Join of that connection", "[ps]") {
  distrib::Job described = node_job(1, 9, 3);
  described.arithmetic = "torch 2 threads 1";  // each Join carries it, see `NodeBench::text`
  NodeBench bench{described};
  const auto asks = [&] {
    bench.item(0, {JoinItem::Kind::text_wanted, {}, 0})();
    bench.ends(0)();
  };
  bench.tell({
      {"its hash", bench.connects(0), {"0 join 1"}},
      {"the text", asks, {"0 join 1 with the text, cuts in the directory"}},
      {"joined", bench.joined(0, 0), {"0 pull 0"}},
      {"gone", bench.gone(0, 1), {"0 join 1 with the text, cuts in the directory"}},
      {"lost", bench.loses(0), {}},
      {"the next server may know the hash", bench.connects(0), {"0 join 1"}},
      {"joined", bench.joined(0, 0), {"0 pull 0"}},
  });
}

TEST_CASE("WorkerNode: only items of the newest Join count", "[ps]") {
  NodeBench bench{node_job(1, 9, 3)};
  bench.connect(0);
  bench.joined(0, 2)();
  const std::uint64_t old = bench.links[0]->calls[0].second;
  const auto says = [&](std::uint64_t stream) {
    return [&, stream] {
      distrib::WireWriter head;
      JoinItem{JoinItem::Kind::joined, {2, {0}}, 0}.encode(head);
      CHECK(bench.links[0]->server.item(stream, head.view()));
      bench.carry();
    };
  };
  bench.tell({
      {"gone", bench.gone(0, 2), {"0 join 1"}},
      {"an item of the old stream", says(old), {}},
      {"the old stream ends", bench.ends(0), {}},
      {"joined", bench.joined(0, 2), {"0 pull 2"}},
  });
}

TEST_CASE("WorkerNode: after a second Gone it sends Restore", "[ps]") {
  NodeBench bench{node_job(1, 9, 3)};
  bench.tell({
      {"join", bench.connects(0), {"0 join 1"}},
      {"joined", bench.joined(0, 4, {0, 3}), {"shell saved 3", "0 pull 4"}},
      {"gone", bench.gone(0, 6, {0, 3, 6}), {"shell saved 6", "0 join 1"}},
      {"the old stream ends", bench.ends(0), {}},
      {"joined", bench.joined(0, 4, {0, 3}), {"0 pull 4"}},
      {"gone", bench.gone(0, 6, {0, 3}), {"0 restore 3"}},
      {"answered", bench.reply<Restore>(0), {}},
      {"restored", bench.joined(0, 3, {0, 3}), {"0 pull 3"}},
      {"values", bench.values(0, 3, {0, 3}), {"shell compute 4 of w=3"}},
  });
}

TEST_CASE("WorkerNode: each Joined makes it cancel its earlier pulls", "[ps]") {
  NodeBench bench{node_job(1, 9, 3)};
  bench.connect(0);
  bench.joined(0, 3)();
  for (int again = 0; again < 300; ++again)
    bench.tell({{"a worker sends all shards to a cut", bench.joined(0, 3), {"0 takes back pull", "0 pull 3"}}});
  bench.tell({{"values", bench.values(0, 3), {"shell compute 4 of w=3"}}});
}

TEST_CASE("WorkerNode: with a full buffer it asks for a cut; a repeat with other bytes is reported", "[ps]") {
  NodeBench bench{node_job(1, 9, 5), {.replay_budget_bytes = 64}};
  bench.tell({
      {"join", bench.connects(0), {"0 join 1"}},
      {"joined", bench.joined(0, 0), {"0 pull 0"}},
      {"values", bench.values(0, 0), {"shell compute 1 of w=0"}},
      {"made", bench.computed(), {"0 push 1 of 1 common=0 w=1", "0 pull 1"}},
      {"other bytes", bench.reply<Push>(0, {{1, {0}}, true}), {"shell not repeatable 1"}},
      {"full", bench.values(0, 1), {"0 save"}},
      {"answered", bench.reply<Save>(0), {}},
      {"saved", bench.notice(0, 1, {0, 1}), {"shell compute 2 of w=1", "shell saved 1"}},
      {"reported only once", bench.notice(0, 1, {0, 1}), {}},
  });
}

TEST_CASE("WorkerNode: with a connection all calls on it are lost", "[ps]") {
  NodeBench bench{node_job(2, 9, 9)};
  bench.connect(0);
  bench.connect(1);
  bench.joined(0, 0)();
  bench.joined(1, 0)();
  bench.tell({
      {"values", bench.values(0, 0), {}},
      {"lost", bench.loses(1), {}},
      {"it is not connected", [&] { CHECK_FALSE(bench.node.is_connected(1)); }, {}},
      {"connected again", bench.connects(1), {"1 join 1"}},
      {"pulled again", bench.joined(1, 0), {"1 pull 0"}},
      {"values", bench.values(1, 0), {"shell compute 1 of w=0 w=0"}},
      {"lost", bench.loses(1), {}},
      {"only to the other shard", bench.computed(), {"0 push 1 of 1 common=0 w=1", "0 pull 1"}},
      {"connected again", bench.connects(1), {"1 join 1"}},
      {"what the shard lacks", bench.joined(1, 0), {"1 push 1 of 1 common=0 w=1", "1 pull 1"}},
      {"values", bench.values(1, 1), {}},
      {"continue", bench.values(0, 1), {"shell compute 2 of w=1 w=1"}},
      {"lost", bench.loses(0), {}},
      {"while it computes", bench.stop(), {}},
      {"only one shard receives the rest",
       bench.computed(),
       {"shell left", "1 push 2 of 1 common=0 w=2", "1 leave", "1 takes back join", "1 takes back push",
        "1 takes back push"}},
  });
}

TEST_CASE("WorkerNode: the end of a stream and failures of rpc do not end the job", "[ps]") {
  NodeBench bench{node_job(1, 9, 9)};
  bench.connect(0);
  bench.joined(0, 0)();
  for (const rpc_errc code : {rpc_errc::closed, rpc_errc::cancelled, rpc_errc::lost, rpc_errc::exhausted})
    bench.tell({
        {"failed", bench.fails<Pull>(0, code), {}},
        {"pulled again when the shard reports where it is", bench.joined(0, 0), {"0 pull 0"}},
    });
  bench.tell({
      {"not joined any more", bench.fails<Pull>(0, ps_errc::not_joined), {}},
      {"its stream ends", bench.ends(0), {}},
      {"lost", bench.loses(0), {}},
      {"connected again", bench.connects(0), {"0 join 1"}},
      {"refused by a service that is over", bench.fails<Join>(0, rpc_errc::closed), {}},
  });
  CHECK_FALSE(bench.node.over());
}

TEST_CASE("WorkerNode: a refusal by a shard ends it, with the text of the shard", "[ps]") {
  struct Row {
    std::error_code code;
    std::string where;
    std::string failed;
  };
  const Row rows[] = {
      {ps_errc::job_mismatch, "the first line",
       "this belongs to another job: use the same program and flags, or another directory (shard 1: the first line)"},
      {ps_errc::unknown_rank, "", "the job has no such rank: start as many workers as the job has (shard 1)"},
      {rpc_errc::unknown_method, "", "the server has no such method: build both ends from the same release (shard 1)"},
      {rpc_errc::too_large, "64 bytes",
       "a frame is larger than its receiver accepts: raise the receiver's limits, or send less at once (shard 1: 64 "
       "bytes)"},
      {rpc_errc::bad_message, "x", "the message cannot be decoded: build both ends from the same release (shard 1: x)"},
      {std::make_error_code(std::errc::permission_denied), "x",
       "input or output failed (at the peer) (shard 1: x (generic 13))"},
  };
  for (const Row& row : rows) {
    NodeBench bench{node_job(2, 9, 9)};
    bench.connect(0);
    bench.connect(1);
    bench.tell({
        {row.failed.c_str(), bench.fails<Join>(1, row.code, row.where), {"shell failed: " + row.failed}},
        {"nothing follows", bench.fails<Join>(0, row.code, row.where), {}},
    });
    CHECK(bench.node.over());
  }
}

TEST_CASE("WorkerNode: pushes the sum of a block of ranks, which a shard of an older version does not know", "[ps]") {
  NodeBench bench{story::job(1, 4, 9, 9), {.level = 1}, 2};
  bench.tell({
      {"join", bench.connects(0), {"0 join 2"}},
      {"", bench.joined(0, 0), {"0 pull 0"}},
      {"values", bench.values(0, 0), {"shell compute 1 of w=0"}},
      {"made", bench.computed(), {"0 push 1 of 2/1 common=0 w=1", "0 pull 1"}},
      {"counted", bench.reply<distrib::PushSum>(0, {{1, {0}}, false}), {}},
      {"values", bench.values(0, 1), {"shell compute 2 of w=1"}},
      {"made", bench.computed(), {"0 push 2 of 2/1 common=0 w=2", "0 pull 2"}},
      {"counted before, with other bytes",
       bench.reply<distrib::PushSum>(0, {{2, {0}}, true}),
       {"shell not repeatable 2"}},
      {"values", bench.values(0, 2), {"shell compute 3 of w=2"}},
      {"made", bench.computed(), {"0 push 3 of 2/1 common=0 w=3", "0 pull 3"}},
      {"an older version",
       bench.fails<distrib::PushSum>(0, rpc_errc::unknown_method),
       {"shell failed: the parameter server takes no sums of ranks: start all tasks with one version, or set "
        "ClusterMode::sum_ranks to false (shard 0: it is of an older version)"}},
  });
}

TEST_CASE("WorkerNode: a rank that is lost permanently ends it", "[ps]") {
  NodeBench bench{node_job(1, 9, 9)};
  bench.connect(0);
  bench.joined(0, 0)();
  bench.tell({
      {"lost",
       bench.item(0, {JoinItem::Kind::rank_lost, {}, 7}),
       {"shell failed: a worker is lost permanently: find out why, then start the job again (rank 7)"}},
      {"the shell gets no further call", bench.values(0, 0), {}},
      {"and the shard gets none", bench.item(0, {JoinItem::Kind::text_wanted, {}, 0}), {}},
  });
  CHECK(bench.counts.empty());
}

TEST_CASE("WorkerNode: in a job that is not replayable no contribution is made again, and the Join says what it made",
          "[ps]") {
  distrib::Job job = node_job(1, 9, 9);
  job.replayable = false;
  const std::string lost =
      "contributions of batches of the program's own are lost: start all tasks again, they continue from the newest "
      "cut";
  NodeBench bench{job};
  bench.tell({
      {"it has begun nothing", bench.connects(0), {"0 join 1"}},
      {"", bench.joined(0, 0), {"0 pull 0"}},
      {"the first", bench.values(0, 0), {"shell compute 1 of w=0"}},
      {"its connection is lost while it computes", bench.loses(0), {}},
      {"it has begun something", bench.connects(0), {"0 join 1, has begun"}},
      {"", bench.joined(0, 0), {"0 pull 0"}},
      {"the first is still to come", bench.computed(), {"0 push 1 of 1 common=0 w=1", "0 pull 1"}},
      {"the values of 0 are late", bench.values(0, 0), {}},
      {"", bench.values(0, 1), {"shell compute 2 of w=1"}},
      {"sent back", bench.computed(), {"0 push 2 of 1 common=0 w=2", "0 pull 2"}},
      {"", bench.gone(0, 5), {"0 join 1, has begun"}},
      {"", bench.joined(0, 0), {"0 pull 0"}},
      {"it would have to make the first one again",
       bench.values(0, 0),
       {"shell failed: " + lost + " (step 1 would be made again)"}},
  });

  NodeBench other{job};
  other.connect(0);
  other.joined(0, 0)();
  other.tell({{"another rank is lost",
               other.item(0, {JoinItem::Kind::rank_lost, {}, 0}),
               {"shell failed: " + lost + " (rank 0)"}}});
  NodeBench without_credit{job};
  without_credit.connect(0);
  without_credit.tell({{"and so when its stream fails",
                        without_credit.fails<Join>(0, ps_errc::rank_lost, "rank 0"),
                        {"shell failed: " + lost + " (shard 0: rank 0)"}}});
}

TEST_CASE("WorkerNode: an answer that does not decode, or a block of another size, ends it", "[ps]") {
  const auto answer = [](NodeBench& bench, std::uint64_t call, std::string_view head,
                         const distrib::SharedBuffer& body) {
    bench.links[0]->server.reply(call, distrib::as_bytes(head), body);
    bench.carry();
  };
  const std::string failed =
      "shell failed: the message cannot be decoded: build both ends from the same release (shard 0, answer to "
      "distrib.ps.";
  for (const distrib::SharedBuffer& body : {distrib::SharedBuffer{}, stream::body(32)}) {
    NodeBench bench{node_job(1, 9, 9)};
    bench.connect(0);
    bench.joined(0, 0)();
    bench.tell({{"size", [&] { answer(bench, bench.take_call<Pull>(0), "", body); }, {failed + "Pull)"}}});
  }
  NodeBench pull{node_job(1, 9, 9)};
  pull.connect(0);
  pull.joined(0, 0)();
  pull.tell({{"values", [&] { answer(pull, pull.take_call<Pull>(0), "\x0a", block(0)); }, {failed + "Pull)"}}});
  NodeBench push{node_job(1, 9, 9)};
  push.connect(0);
  push.joined(0, 0)();
  push.values(0, 0)();
  push.computed()();
  push.tell({{"counted", [&] { answer(push, push.take_call<Push>(0), "\x0a", nullptr); }, {failed + "Push)"}}});
  NodeBench join{node_job(1, 9, 9)};
  join.connect(0);
  join.tell({{"an item without a kind",
              [&] {
                CHECK(join.links[0]->server.item(join.links[0]->calls[0].second, {}));
                join.carry();
              },
              {failed + "Join)"}}});
}

TEST_CASE("WorkerNode: with two replicas it uses the values of either, and does not wait for a replica that is lost",
          "[ps]") {
  distrib::Job job = node_job(1, 9, 0);
  job.replicas = 2;
  NodeBench bench{job};
  bench.tell({
      {"", bench.connects(0), {"0 join 1"}},
      {"", bench.connects(1), {"1 join 1"}},
      {"waits for both", bench.joined(0, 4, {0, 4}), {"shell saved 4"}},
      {"the other replica is behind", bench.joined(1, 0), {"0 pull 4", "1 catch up 0"}},
      {"", bench.reply<distrib::CatchUp>(1), {}},
      {"values", bench.values(0, 4, {0, 4}), {"shell compute 5 of w=4"}},
      {"it has caught up", bench.joined(1, 4, {0, 4}), {"1 pull 4"}},
      {"made", bench.computed(), {"0 push 5 of 1 common=4 w=5", "0 pull 5", "1 push 5 of 1 common=4 w=5"}},
      {"replica 0 is lost: pulls from the other replica", bench.loses(0), {"1 pull 5"}},
      {"", bench.values(1, 5, {0, 4}), {}},
  });
}

TEST_CASE("WorkerNode: replicas whose values differ end it", "[ps]") {
  distrib::Job job = node_job(2, 9, 0);
  job.replicas = 2;
  NodeBench bench{job};
  for (const std::uint32_t replica : {0U, 1U, 2U, 3U}) bench.connect(replica);
  for (const std::uint32_t replica : {0U, 1U, 2U, 3U}) bench.joined(replica, 0)();
  const auto values = [&bench](std::uint32_t replica, float value) {
    return bench.reply<Pull>(replica, {{0, {0}}, false, 0, block(value)});
  };
  bench.tell({
      {"it is pulled from too", bench.joined(2, 0), {"2 pull 0"}},
      {"", values(0, 7), {}},
      {"",
       values(2, 8),
       {"shell failed: two replicas of a shard returned different values for one step: memory or a processor may be "
        "faulty; start again from a checkpoint (step 0 of shard 0)"}},
  });
}

TEST_CASE("WorkerNode: blocks have the size of the wire format", "[ps]") {
  for (const std::size_t size : {64U, 128U}) {
    distrib::Job job = node_job(1, 9, 9);
    job.variables[0].shape = {32};
    job.parts[0].slice = distrib::Slice::whole({32});
    job.wire_format = distrib::FloatFormat::bfloat16;
    NodeBench bench{job};
    bench.connect(0);
    bench.joined(0, 0)();
    const auto values = std::make_shared<distrib::AlignedBuffer>(size);
    const bool good = size == 64;  // half of the block
    bench.tell({{"values", bench.reply<Pull>(0, {{0, {0}}, false, 0, values}),
                 good ? Texts{"shell compute 1 of w=0"}
                      : Texts{"shell failed: the message cannot be decoded: build both ends from the same release "
                              "(shard 0, answer to distrib.ps.Pull)"}}});
  }
}

TEST_CASE("WorkerNode: a shard without variables has no body in pulls and pushes", "[ps]") {
  distrib::Job job = node_job(2, 9, 9);
  job.parts[1].shard = 0;
  NodeBench bench{job};
  bench.connect(0);
  bench.connect(1);
  bench.joined(0, 0)();
  bench.joined(1, 0)();
  bench.reply<Pull>(0, {{0, {0}}, false, 0, std::make_shared<distrib::AlignedBuffer>(128)})();
  const auto nothing = std::make_shared<distrib::AlignedBuffer>();
  bench.tell({
      {"values without a body; the second variable is shown as a row",
       bench.reply<Pull>(1, {{0, {0}}, false, 0, nullptr}),
       {"shell compute 1 of w=0 rows=0 nothing"}},
      {"a contribution without a body",
       [&] {
         bench.node.computed(bench.work.ticket, {block(1), nothing}, bench.now);
         bench.carry();
       },
       {"0 push 1 of 1 common=0 w=1", "0 pull 1", "1 push 1 of 1 common=0", "1 pull 1"}},
  });
}

namespace {

/// Brings a worker to the point where it has made the contributions of `steps` steps, and its shard has lost all of
/// them.
void lose_all(NodeBench& bench, Step steps) {
  bench.connect(0);
  bench.joined(0, 0)();
  for (Step step = 0; step < steps; ++step) {
    bench.values(0, step)();
    bench.computed()();
    bench.pushed(0, step)();
  }
  bench.loses(0)();
  bench.connect(0);
  bench.told.clear();
  bench.joined(0, 0)();
}

}  // namespace

TEST_CASE("WorkerNode: calls beyond 256 wait, and keep their order", "[ps]") {
  NodeBench bench{node_job(1, 999, 999)};
  lose_all(bench, 300);
  REQUIRE(bench.told.size() == 255);  // one more is the stream
  CHECK(bench.told.front() == "0 push 1 of 1 common=0 w=1");
  CHECK(bench.told.back() == "0 push 255 of 1 common=0 w=255");
  bench.tell({
      {"answered", bench.pushed(0, 1), {"0 push 256 of 1 common=0 w=256"}},
      {"failed", bench.fails<Push>(0, rpc_errc::exhausted), {"0 push 257 of 1 common=0 w=257"}},
  });
  for (Step step = 258; step <= 300; ++step) bench.pushed(0, step - 255)();
  bench.tell({{"the last", bench.pushed(0, 46), {"0 pull 300"}}, {"no more", bench.pushed(0, 47), {}}});
  bench.tell({
      {"continue", bench.values(0, 300), {"shell compute 301 of w=300"}},
      {"made", bench.computed(), {"0 push 301 of 1 common=0 w=301", "0 pull 301"}},
  });
}

TEST_CASE("WorkerNode: calls that wait are dropped with their connection", "[ps]") {
  NodeBench bench{node_job(1, 999, 999)};
  lose_all(bench, 300);
  bench.loses(0)();
  bench.tell({
      {"connected again", bench.connects(0), {"0 join 1"}},
      {"the shard had most contributions", bench.joined(0, 299), {"0 push 300 of 1 common=0 w=300", "0 pull 300"}},
  });
}

TEST_CASE("WorkerNode: the last call does not wait, and is sent before Join is cancelled", "[ps]") {
  NodeBench bench{node_job(1, 999, 999)};
  lose_all(bench, 300);
  bench.told.clear();
  bench.stop()();
  REQUIRE(bench.told.size() == 258);
  CHECK(bench.told[0] == "shell left");
  CHECK(bench.told[1] == "0 leave");
  CHECK(std::ranges::count(bench.told, "0 takes back push") == 255);
  CHECK(std::ranges::count(bench.told, "0 takes back join") == 1);
  CHECK_FALSE(bench.links[0]->client.finished());
  bench.reply<Leave>(0)();
  CHECK(bench.links[0]->client.finished());
}

TEST_CASE("WorkerNode: an asynchronous worker gets the result", "[ps]") {
  NodeBench bench{story::asynchronous(node_job(1, 2, 0)), {.wants_result = true}};  // one of two contributions
  bench.tell({
      {"join", bench.connects(0), {"0 join 1"}},
      {"joined", bench.joined(0, 0), {"0 pull 0"}},
      {"an asynchronous worker ignores Gone", bench.gone(0, 0), {}},
      {"lost", bench.loses(0), {}},
      {"join", bench.connects(0), {"0 join 1"}},
      {"joined", bench.joined(0, 0), {"0 pull 0"}},
      {"all ranks' contributions", bench.reply<Pull>(0, {{0, {0}}, false, 1, block(4)}), {"shell compute 1 of w=4"}},
      {"made", bench.computed(), {"0 push 1 of 1 common=0 w=1", "0 pull " + std::to_string(distrib::end_of_job)}},
      {"counted", bench.pushed(0, 1), {}},
      {"durable", bench.notice(0, 1, {1}), {}},
      {"the end",
       bench.reply<Pull>(0, {{1, {1}}, false, 2, block(5)}),
       {"shell done w=5", "0 goodbye", "0 takes back join"}},
  });
  CHECK(bench.counts == Cuts{1, 2});
}

TEST_CASE("WorkerNode: with tables it asks which rows are wanted, and pulls them", "[ps]") {
  NodeBench bench{story::with_tables(node_job(2, 9, 9))};
  bench.connect(0);
  bench.connect(1);
  bench.joined(0, 0)();
  bench.tell({
      {"which rows?", bench.joined(1, 0), {"shell prepare 1"}},
      {"rows of another step", bench.prepared(2), {}},
      {"these", bench.prepared(1), {"0 pull 0 rows=1;", "1 pull 0 rows=;1"}},
      {"values", bench.rows(0, 0, {8}), {}},
      {"a connection is lost with its pull", bench.loses(1), {}},
      {"and connected again", bench.connects(1), {"1 join 1"}},
      {"the same rows", bench.joined(1, 0), {"1 pull 0 rows=;1"}},
      {"values", bench.rows(1, 0, {7}), {"shell compute 1 of w=0 rows=8 w=0 rows=7"}},
      {"made, and the next rows are known",
       bench.computed(2),
       {"0 push 1 of 1 common=0 w=1", "0 pull 1 rows=2;", "1 push 1 of 1 common=0 w=1", "1 pull 1 rows=;2"}},
  });
  bench.tell({{"more rows than were asked for",
               bench.rows(0, 1, {1, 2}),
               {"shell failed: the message cannot be decoded: build both ends from the same release (shard 0, answer "
                "to distrib.ps.Pull)"}}});
  CHECK(bench.node.over());
}

TEST_CASE("WorkerNode: a refusal because of tables ends it, with the text of the shard", "[ps]") {
  const std::pair<ps_errc, std::string> refusals[] = {
      {ps_errc::no_such_row, "the table has no such row: look up only keys of the table"},
      {ps_errc::unsorted_keys, "the keys of a pull, a gradient or a cut must ascend, and each key may occur once"},
      {ps_errc::pull_too_large,
       "a pull asks for more rows than one answer may hold: ask for fewer keys at once, or raise max_pull_bytes"},
      {ps_errc::budget_exceeded,
       "a table needs more memory than its budget has: give it max_rows, raise the budget, or use more servers"}};
  for (const auto& [code, words] : refusals) {
    NodeBench bench{story::with_tables(node_job(2, 9, 9))};
    bench.connect(0);
    bench.connect(1);
    bench.joined(0, 0)();
    bench.joined(1, 0)();
    bench.prepared(1)();
    const std::string failed = "shell failed: " + words + " (shard 0: here)";
    if (code != ps_errc::budget_exceeded) {
      bench.tell({{"pull", bench.fails<Pull>(0, code, "here"), {failed}}});
      continue;
    }
    bench.rows(0, 0, {8})();
    bench.rows(1, 0, {8})();
    bench.computed(2)();
    bench.tell({{"push", bench.fails<Push>(0, code, "here"), {failed}}});
  }
}

TEST_CASE("WorkerNode: an asynchronous worker with tables", "[ps]") {
  NodeBench bench{story::with_tables(story::asynchronous(node_job(2, 99, 0)))};
  bench.connect(0);
  bench.connect(1);
  bench.joined(0, 3)();
  bench.tell({
      {"which rows?", bench.joined(1, 3), {"shell prepare 4"}},
      {"these", bench.prepared(4), {"0 pull 3 rows=4;", "1 pull 3 rows=;1"}},
      {"values", bench.rows(0, 3, {8}), {}},
      {"shard 1 has lost contributions that are not kept", bench.joined(1, 2), {"shell prepare 3"}},
      {"values of an earlier pull", bench.rows(1, 3, {8}), {}},
      {"these", bench.prepared(3), {"0 pull 2 rows=3;", "1 pull 2 rows=;0"}},
  });
}
