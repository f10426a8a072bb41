// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/coordinator/arguments.hpp>
#include <distrib/coordinator/coordinator_core.hpp>
#include <distrib/coordinator/coordinator_options.hpp>
#include <distrib/coordinator/messages.hpp>
#include <distrib/coordinator/remote_value.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/transport_refresh.hpp>
#include <distrib/rpc/rpc_client_pool.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// What a `ClusterCoordinator` is, without the types of its functions. One thread of its own does all I/O; the core is
/// guarded by a mutex, because any thread may schedule.
///
/// Threads: any, but not its own. Waits: an empty `within` means without a limit beyond those of the core.
class CoordinatorShell final {
 public:
  using Within = std::optional<std::chrono::milliseconds>;

  DISTRIB_DECL CoordinatorShell(const ClusterSpec& cluster, std::string digest, CoordinatorOptions options);
  CoordinatorShell(const CoordinatorShell&) = delete;
  auto operator=(const CoordinatorShell&) -> CoordinatorShell& = delete;
  DISTRIB_DECL ~CoordinatorShell();

  [[nodiscard]] auto workers() const noexcept -> std::size_t { return peers_.size(); }
  [[nodiscard]] auto max_bytes() const noexcept -> std::size_t { return options_.max_bytes; }

  /// `name`: of a function of the list, so it lives for ever.
  DISTRIB_DECL auto schedule(std::string_view name, EncodedArguments arguments, Error& error)
      -> std::shared_ptr<const ValueState>;
  DISTRIB_DECL auto create_per_worker(std::string_view name, EncodedArguments arguments) -> std::uint64_t;
  DISTRIB_DECL void join(Within within, Error& error);
  DISTRIB_DECL auto done(Error& error) -> bool;
  DISTRIB_DECL void wait_for(const ValueState& value, Within within, Error& error);
  DISTRIB_DECL void finish(Error& error);

 private:
  using Action = std::variant<StartRun, BuildResource, StopRun, CloseWorker>;

  /// A closure, or the function that builds a resource.
  struct Function {
    std::string_view name;
    EncodedArguments arguments;
    std::shared_ptr<ValueState> value;  // null: a resource
  };
  /// The connection to one worker. Used on the I/O thread.
  struct Peer {
    Address address;
    std::optional<RpcClientPool> pool;
    std::uint64_t connection = 0;  // counts the connections, so that a late answer is recognised
    std::uint64_t process = 0;
    bool greeted = false;          // this connection has said Hello
    bool ends = false;             // End was sent on this connection
    bool ended = false;            // it has answered End
    std::error_code refused;       // told already
  };

  /// Receives the actions of the core: ends closures at once, keeps the others for the I/O thread. `mutex_` is locked.
  class Out {
   public:
    explicit Out(CoordinatorShell& shell, SharedBuffer result = {}) : shell_{shell}, result_{std::move(result)} {}
    void operator()(ClosureDone done) const { shell_.done_with(std::move(done), result_); }
    void operator()(auto action) const { shell_.actions_.push_back(action); }

   private:
    CoordinatorShell& shell_;
    SharedBuffer result_;  // of the run that has ended
  };

  /// Calls `event(core, out)` with the mutex locked, then has its actions performed.
  template <class Event> void tell(Event event, SharedBuffer result = {});
  DISTRIB_DECL void done_with(ClosureDone done, const SharedBuffer& result);
  /// Stops everything, waits for that, and returns the error of the core; none if another thread has taken it.
  DISTRIB_DECL auto take_error(std::unique_lock<std::mutex>& lock) -> Error;
  DISTRIB_DECL void perform_soon();
  DISTRIB_DECL void io_failed();
  /// Waits until `is_so`, and returns true; false: the time is over. Throws what the I/O thread threw.
  template <class Condition>
  [[nodiscard]] auto wait(std::unique_lock<std::mutex>& lock, Within within, Condition is_so) -> bool;
  DISTRIB_DECL void throw_failure(std::unique_lock<std::mutex>& lock);

  // --- on the I/O thread ---

  DISTRIB_DECL void perform();
  DISTRIB_DECL void run(std::uint32_t worker, std::uint64_t run, const Function& function, std::uint64_t resource);
  DISTRIB_DECL void ran(std::uint32_t worker, std::uint64_t connection, std::uint64_t run, const std::error_code& ec,
                        RunReply reply);
  DISTRIB_DECL void connect(std::uint32_t worker, const std::error_code& why);
  DISTRIB_DECL void report(std::uint32_t worker, Event::Kind kind, const std::error_code& code) const;
  DISTRIB_DECL void happened(std::uint32_t worker, const Event& event);
  DISTRIB_DECL void hello(std::uint32_t worker);
  DISTRIB_DECL void greeted(std::uint32_t worker, std::uint64_t connection, const std::error_code& ec,
                            const std::string& where, HelloReply reply);
  DISTRIB_DECL void lost(std::uint32_t worker);
  DISTRIB_DECL void refused(std::uint32_t worker, const std::error_code& code, const std::string& where);
  DISTRIB_DECL void end_worker(std::uint32_t worker);
  DISTRIB_DECL void arm();

  CoordinatorOptions options_;
  std::string digest_;
  std::uint64_t session_;
  std::vector<const std::error_category*> categories_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // guarded by mutex_:
  CoordinatorCore core_;
  std::map<std::uint64_t, std::shared_ptr<Function>> functions_;  // by the number of a closure or resource
  std::uint64_t numbers_ = 0;
  std::deque<Action> actions_;  // to be performed on the I/O thread, in this order
  bool finishing_ = false;
  bool failed_ = false;  // the I/O thread has thrown
  std::vector<bool> has_ended_;  // by worker
  Error end_error_;  // the first one of a worker that was to end
  // used on the I/O thread:
  std::deque<Peer> peers_;
  bool ends_workers_ = false;
  Instant armed_ = Instant::max();
  IoPool io_{1, [this] { io_failed(); }};
  SteadyTimer timer_{io_.executor(0)};
  std::optional<TransportRefresh> refresh_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/coordinator/detail/impl/coordinator_shell.ipp>
#endif
