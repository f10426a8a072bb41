// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/function_worker.hpp>

#include <distrib/rpc/remote_error.hpp>
#include <distrib/rpc/rpc_client_pool.hpp>

#include "coordinator/loopback.hpp"
#include "support/catch.hpp"

#include <csignal>

namespace coordinated {

using distrib::coordinator_errc;
using distrib::Error;

namespace {

/// A client that speaks to a worker by hand.
struct Caller {
  explicit Caller(const distrib::ClusterSpec& cluster, std::uint32_t index = 0)
      : client{context.get_executor(), distrib::Address::parse(cluster.task_address("worker", index)), options()} {}

  static auto options() -> distrib::RpcClientPoolOptions {
    static const std::error_category* const categories[] = {&distrib::detail::coordinator_category()};
    distrib::RpcClientPoolOptions made;
    made.client.categories = categories;
    return made;
  }

  template <class M> auto call(typename M::Request request, std::error_code& ec) -> typename M::Reply {
    std::optional<typename M::Reply> got;
    client.async_call<M>(std::move(request), 30s, [&](std::error_code code, typename M::Reply reply) {
      ec = code;
      got = std::move(reply);
    });
    while (!got) context.run_one();
    return std::move(*got);
  }

  asio::io_context context{1};
  distrib::RpcClientPool client;
};

auto error_in(const distrib::RunReply& reply) -> Error {
  static const std::error_category* const categories[] = {&distrib::detail::coordinator_category()};
  return reply.error.empty() ? Error{} : distrib::decode_error(reply.error, categories);
}

auto bytes_of(const std::vector<std::uint8_t>& values) -> distrib::SharedBuffer {
  auto made = std::make_shared<distrib::AlignedBuffer>(values.size());
  std::memcpy(made->data(), values.data(), values.size());
  return made;
}

}  // namespace

TEST_CASE("FunctionWorker: what strangers send is refused, and nothing runs", "[coordinator]") {
  Workers workers{1};
  Caller caller{workers.cluster()};
  std::error_code ec;
  const auto add = distrib::method_id(Add::name);

  caller.call<distrib::RunFunction>({1, 2, 3, add, 0, nullptr}, ec);
  CHECK(ec == coordinator_errc::other_process);  // no Hello was said
  caller.call<distrib::EndWorker>({}, ec);
  CHECK(ec == coordinator_errc::other_process);
  caller.call<distrib::Hello>({1, 0, 1, "other"}, ec);
  CHECK(ec == coordinator_errc::other_functions);
  caller.call<distrib::Hello>({1, 1, 2, Functions::digest()}, ec);
  CHECK(ec == coordinator_errc::no_workers);
  const auto process = caller.call<distrib::Hello>({1, 0, 1, Functions::digest()}, ec).process;
  CHECK_FALSE(ec);
  CHECK(process != 0);
  caller.call<distrib::RunFunction>({1, process + 2, 3, add, 0, nullptr}, ec);
  CHECK(ec == coordinator_errc::other_process);

  CHECK(error_in(caller.call<distrib::RunFunction>({1, process, 1, 12345, 0, nullptr}, ec)).code ==
        coordinator_errc::unknown_function);
  CHECK(error_in(caller.call<distrib::RunFunction>({1, process, 2, add, 0, nullptr}, ec)).code ==
        coordinator_errc::bad_arguments);
  CHECK(error_in(caller.call<distrib::RunFunction>({1, process, 3, add, 0, bytes_of({0xff, 0xff, 0xff})}, ec)).code ==
        coordinator_errc::bad_arguments);
  const auto next = distrib::method_id(NextNumber::name);  // a per-worker value that nothing has made
  CHECK(
      error_in(caller.call<distrib::RunFunction>({1, process, 4, next, 0, bytes_of({9, 4, 0, 0, 0, 0, 0})}, ec)).code ==
      coordinator_errc::bad_arguments);
  const distrib::RunReply sum =
      caller.call<distrib::RunFunction>({1, process, 5, add, 0, bytes_of({4, 1, 0, 0, 0, 0, 4, 2, 0, 0, 0, 0})}, ec);
  CHECK_FALSE(error_in(sum));
  REQUIRE(sum.body != nullptr);
  CHECK(sum.body->size() == 6);
}

TEST_CASE("FunctionWorker: a per-worker value of another type is not passed", "[coordinator]") {
  Workers workers{1};
  Caller caller{workers.cluster()};
  std::error_code ec;
  const auto process = caller.call<distrib::Hello>({1, 0, 1, Functions::digest()}, ec).process;
  const auto add = distrib::method_id(Add::name), next = distrib::method_id(NextNumber::name);
  caller.call<distrib::RunFunction>({1, process, 1, add, 9, bytes_of({4, 1, 0, 0, 0, 0, 4, 2, 0, 0, 0, 0})}, ec);
  CHECK_FALSE(ec);  // resource 9 is an int
  CHECK(
      error_in(caller.call<distrib::RunFunction>({1, process, 2, next, 0, bytes_of({9, 4, 0, 0, 0, 0, 0})}, ec)).code ==
      coordinator_errc::bad_arguments);
}

TEST_CASE("FunctionWorker: a function whose coordinator is gone is stopped, and the worker waits for the next one",
          "[coordinator]") {
  Workers workers{1};
  {
    Coordinator coordinator{workers.cluster()};
    coordinator.schedule<WaitForStop>();
    while (WaitForStop::running() == 0) std::this_thread::yield();
  }
  while (WaitForStop::running() != 0) std::this_thread::yield();
  Coordinator coordinator{workers.cluster()};
  CHECK(coordinator.fetch(coordinator.schedule<Add>(1, 2)) == 3);
}

TEST_CASE("FunctionWorker: without a coordinator it ends with code 1 and says so", "[coordinator]") {
  Workers workers{1, {.coordinator_within = 50ms}};
  CHECK(workers.code(0) == 1);
  CHECK(workers.why(0).code == coordinator_errc::no_coordinator);
  CHECK(workers.why(0).where == "/job:worker/task:0");
}

TEST_CASE("FunctionWorker: its address must be free, and its task in the cluster", "[coordinator]") {
  Workers workers{1};
  using Worker = distrib::FunctionWorker<Functions>;
  CHECK_THROWS_AS((Worker{workers.cluster(), 0}), std::system_error);
  CHECK_THROWS_AS((Worker{workers.cluster(), 1}), std::system_error);
}

}  // namespace coordinated
