// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/coordinator/function_context.hpp>
#include <distrib/coordinator/function_worker_options.hpp>
#include <distrib/coordinator/messages.hpp>
#include <distrib/coordinator/parameter_client.hpp>
#include <distrib/coordinator/parameter_job.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/transport_refresh.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_pool_server.hpp>
#include <distrib/rpc/server_session.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A per-worker value, without its type.
struct Resource {
  const void* type = nullptr;  // `resource_type<T>`
  std::shared_ptr<void> value;
};
/// By the number that the coordinator has given.
using Resources = std::map<std::uint64_t, Resource>;

/// Its address identifies a type.
template <class T> inline constexpr char resource_type = 0;

/// A function as a worker calls it: decodes its arguments, and encodes its result, or keeps it as `resource`. Returns
/// `coordinator_errc::bad_arguments` if the bytes are not those of its arguments. Throws what the function throws.
using FunctionCall = Error (*)(FunctionContext& context, Resources& resources, std::uint64_t resource,
                               ByteView arguments, SharedBuffer& result);
struct FunctionEntry {
  std::string_view name;
  FunctionCall call;
};
using FunctionTable = std::map<std::uint32_t, FunctionEntry>;  // by `method_id` of the name

/// What a `FunctionWorker` is, without the types of its functions. One thread of its own does all I/O; functions run on
/// the thread of `run()`.
class WorkerShell final {
 public:
  DISTRIB_DECL WorkerShell(const ClusterSpec& cluster, std::uint32_t index, FunctionTable functions, std::string digest,
                           FunctionWorkerOptions options, std::optional<ParameterJob> job);
  WorkerShell(const WorkerShell&) = delete;
  auto operator=(const WorkerShell&) -> WorkerShell& = delete;
  DISTRIB_DECL ~WorkerShell();

  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return server_->port(); }
  [[nodiscard]] DISTRIB_DECL auto run() -> int;
  DISTRIB_DECL void stop();
  [[nodiscard]] auto why() const noexcept -> const Error& { return why_; }

 private:
  using Connection = ServerConnection;
  template <class M> using Answer = CallFromAnywhere<M, Connection>;

  /// Passes requests to their overload of `serve`, and the ends of connections to `closed`.
  struct Serve {
    WorkerShell* shell;
    template <class Request, class M> void operator()(Request&& request, Call<M, Connection> call) const {
      shell->serve(std::forward<Request>(request), std::move(call));
    }
  };
  template <class... Ms> using RouterOf = Router<Route<Ms, Serve>...>;
  struct Dispatch {
    WorkerShell* shell;
    RouterOf<Hello, RunFunction, StopFunction, EndWorker> router;
    void dispatch(const Connection& connection, const ServerEvent& event) { router.dispatch(connection, event); }
    void closed(const Connection& connection) { shell->closed(connection); }
  };

  /// A run that was asked for and is not answered.
  struct Task {
    RunRequest request;
    Answer<RunFunction> answer;
    FunctionRun run;
  };

  // --- on the I/O thread ---

  DISTRIB_DECL void serve(HelloRequest request, Call<Hello, Connection> call);
  DISTRIB_DECL void serve(RunRequest request, Call<RunFunction, Connection> call);
  DISTRIB_DECL void serve(StopRequest request, Call<StopFunction, Connection> call);
  DISTRIB_DECL void serve(Empty, Call<EndWorker, Connection> call);
  DISTRIB_DECL void closed(const Connection& connection);
  DISTRIB_DECL void stop_tasks();
  DISTRIB_DECL void wait_for_coordinator();
  DISTRIB_DECL void leave();

  // --- on the thread of run() ---

  DISTRIB_DECL void carry_out(const std::shared_ptr<Task>& task);
  DISTRIB_DECL auto call_function(Task& task, RunReply& reply) -> Error;
  DISTRIB_DECL void end(const Answer<EndWorker>& answer);
  DISTRIB_DECL void finish(int code, Error why);

  static constexpr std::chrono::milliseconds hang_up_within{2'000};
  static constexpr std::size_t most_tasks = 8;  // a coordinator asks for one at a time

  std::uint32_t index_;
  std::uint32_t workers_;
  FunctionTable functions_;
  std::string digest_;
  FunctionWorkerOptions options_;
  std::uint64_t process_;
  asio::io_context context_{1};  // of run()
  Resources resources_;  // used on the thread of run()
  int code_ = exit_code::again;
  Error why_;
  bool is_over_ = false;  // `finish` was called

  // used on the I/O thread:
  std::uint64_t session_ = 0;
  Connection coordinator_;  // null: none is connected
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<Task>> tasks_;  // by session and run
  std::optional<std::pair<int, Error>> leaving_;  // the coordinator was told the end: how `run()` is to end

  std::atomic<bool> leaves_ = false;  // it was asked to stop: what runs is not answered any more
  IoPool io_{1, [this] { context_.stop(); }};
  SteadyTimer no_coordinator_{io_.executor(0)};
  std::optional<TransportRefresh> refresh_;  // used on the I/O thread
  std::unique_ptr<ParameterClient> parameters_;  // null: the worker has no variables
  std::unique_ptr<RpcPoolServer<Dispatch>> server_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/coordinator/detail/impl/worker_shell.ipp>
#endif
