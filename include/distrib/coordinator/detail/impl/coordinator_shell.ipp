// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/coordinator/detail/coordinator_shell.hpp>

#include <distrib/cluster/task_id.hpp>
#include <distrib/coordinator/detail/random_number.hpp>
#include <distrib/coordinator/error.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/run_on.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/remote_error.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL CoordinatorShell::CoordinatorShell(const ClusterSpec& cluster, std::string digest,
                                                CoordinatorOptions options)
    : options_{std::move(options)},
      digest_{std::move(digest)},
      session_{random_number()},
      categories_{&coordinator_category()},
      core_{options_, static_cast<std::uint32_t>(cluster.num_tasks("worker")),
            cluster.contains("ps") ? static_cast<std::uint32_t>(cluster.num_tasks("ps")) : 0,
            std::chrono::steady_clock::now()},
      has_ended_(cluster.num_tasks("worker")) {
  const ErrorCategories of_ps = ps_categories();
  categories_.insert(categories_.end(), of_ps.begin(), of_ps.end());
  categories_.insert(categories_.end(), options_.categories.begin(), options_.categories.end());
  const auto workers = static_cast<std::uint32_t>(has_ended_.size());
  if (workers == 0) throw_error(coordinator_errc::no_workers, to_string(cluster));
  Error error;
  check_transport_of_job(options_.tls, error);
  throw_if(error);
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    peers_.emplace_back();
    peers_.back().address = Address::parse(cluster.task_address("worker", worker));
  }
  asio::post(io_.executor(0), [this] {
    for (std::uint32_t worker = 0; worker < peers_.size(); ++worker) connect(worker, {});
    arm();
    refresh_.emplace(io_.executor(0), options_.tls, OwnIdentity{}, options_.observer);
  });
}

DISTRIB_DECL CoordinatorShell::~CoordinatorShell() {
  run_on(io_, 0, [this] {
    timer_.cancel();
    refresh_.reset();
    for (Peer& peer : peers_) {
      ++peer.connection;  // answers that come now are too late
      peer.pool.reset();
    }
  });
  io_.stop();
  try {
    io_.join();
  } catch (...) {  // ignored: a call has thrown it, or nothing waits for it any more
  }
}

template <class Event>
void CoordinatorShell::tell(Event event, SharedBuffer result) {
  {
    const std::scoped_lock lock{mutex_};
    event(core_, Out{*this, std::move(result)});
    changed_.notify_all();
  }
  perform();
}

DISTRIB_DECL void CoordinatorShell::done_with(ClosureDone done, const SharedBuffer& result) {
  const auto found = functions_.extract(done.closure);
  if (found.empty()) return;
  ValueState& value = *found.mapped()->value;
  if (done.error) value.error = std::move(done.error);
  else value.bytes = result;
  value.ready = true;
}

// --- on the threads of users ---

template <class Condition>
auto CoordinatorShell::wait(std::unique_lock<std::mutex>& lock, Within within, Condition is_so) -> bool {
  const auto by = within ? instant_after(std::chrono::steady_clock::now(), bounded_time(*within)) : Instant::max();
  const bool in_time = changed_.wait_until(lock, by, [&] { return is_so() || failed_; });
  throw_failure(lock);
  return in_time;
}

DISTRIB_DECL void CoordinatorShell::throw_failure(std::unique_lock<std::mutex>& lock) {
  if (!failed_) return;
  lock.unlock();
  io_.join();  // throws what the I/O thread threw, to one of the threads that wait
  throw_error(coordinator_errc::over, "the thread of I/O has failed");
}

DISTRIB_DECL void CoordinatorShell::io_failed() {
  const std::scoped_lock lock{mutex_};
  failed_ = true;
  changed_.notify_all();
}

DISTRIB_DECL void CoordinatorShell::perform_soon() {
  asio::post(io_.executor(0), [this] { perform(); });
}

DISTRIB_DECL auto CoordinatorShell::take_error(std::unique_lock<std::mutex>& lock) -> Error {
  const Out out{*this};
  while (core_.error()) {  // ends, because the core gives up a worker that does not stop
    core_.stop(std::chrono::steady_clock::now(), out);
    perform_soon();
    if (core_.stopped()) break;
    changed_.wait(lock);
    throw_failure(lock);
  }
  changed_.notify_all();
  return core_.take_error(std::chrono::steady_clock::now());
}

DISTRIB_DECL auto CoordinatorShell::schedule(std::string_view name, EncodedArguments arguments, Error& error)
    -> std::shared_ptr<const ValueState> {
  std::unique_lock lock{mutex_};
  do {
    static_cast<void>(wait(lock, std::nullopt, [this] { return !core_.full() || core_.error() || finishing_; }));
    if (core_.error()) error = take_error(lock);
    else if (finishing_) error = {coordinator_errc::over, std::string{name}};
    if (error) return nullptr;
  } while (core_.full() || core_.error());
  const std::uint64_t number = ++numbers_;
  auto value = std::make_shared<ValueState>();
  functions_[number] = std::make_shared<Function>(Function{name, std::move(arguments), value});
  const Out out{*this};
  core_.schedule(number, name, std::chrono::steady_clock::now(), out);
  perform_soon();
  return value;
}

DISTRIB_DECL auto CoordinatorShell::create_per_worker(std::string_view name, EncodedArguments arguments)
    -> std::uint64_t {
  const std::scoped_lock lock{mutex_};
  const std::uint64_t number = ++numbers_;
  functions_[number] = std::make_shared<Function>(Function{name, std::move(arguments), nullptr});
  core_.add_resource(number, name);
  return number;
}

DISTRIB_DECL void CoordinatorShell::join(Within within, Error& error) {
  std::unique_lock lock{mutex_};
  for (;;) {
    const bool in_time = wait(lock, within, [this] { return core_.idle() || core_.error(); });
    if (core_.error()) error = take_error(lock);
    else if (!in_time) error = {coordinator_errc::timed_out, "join waits for " + core_.awaited()};
    if (error || core_.idle()) return;
  }
}

DISTRIB_DECL auto CoordinatorShell::done(Error& error) -> bool {
  std::unique_lock lock{mutex_};
  if (core_.error()) error = take_error(lock);
  return core_.idle();
}

DISTRIB_DECL void CoordinatorShell::wait_for(const ValueState& value, Within within, Error& error) {
  if (!value.ready) {
    std::unique_lock lock{mutex_};
    // While there is an error that nobody takes, nothing runs, so what waits would wait for ever.
    const auto is_stuck = [this, &value] { return core_.error() && core_.stopped() && !value.ready; };
    const bool in_time = wait(lock, within, [&] { return value.ready || is_stuck(); });
    if (is_stuck()) error = core_.error();
    else if (!in_time) error = {coordinator_errc::timed_out, "fetch waits for " + core_.awaited()};
    if (error) return;
  }
  error = value.error;
}

DISTRIB_DECL void CoordinatorShell::finish(Error& error) {
  join(std::nullopt, error);
  if (error) return;
  std::unique_lock lock{mutex_};
  finishing_ = true;
  changed_.notify_all();
  asio::post(io_.executor(0), [this] {
    ends_workers_ = true;
    for (std::uint32_t worker = 0; worker < peers_.size(); ++worker) end_worker(worker);
  });
  const auto all_ended = [this] { return std::find(has_ended_.begin(), has_ended_.end(), false) == has_ended_.end(); };
  const bool in_time = wait(lock, options_.end_within, all_ended);
  error = end_error_;
  if (error || in_time) return;
  error = {coordinator_errc::timed_out, "finish waits for"};
  for (std::size_t worker = 0; worker < has_ended_.size(); ++worker)
    if (!has_ended_[worker]) error.where += " " + to_string(TaskId{"worker", static_cast<std::uint32_t>(worker)});
}

// --- on the I/O thread ---

DISTRIB_DECL void CoordinatorShell::perform() {
  for (;;) {
    std::unique_lock lock{mutex_};
    if (actions_.empty()) break;
    const Action action = actions_.front();
    actions_.pop_front();
    const auto function_of = [this](std::uint64_t number) {
      const auto found = functions_.find(number);
      return found == functions_.end() ? nullptr : found->second;
    };
    if (const auto* start = std::get_if<StartRun>(&action)) {
      const std::shared_ptr<Function> function = function_of(start->closure);
      const bool is_due = core_.is_running(start->worker, start->run);
      lock.unlock();
      if (function != nullptr && is_due) run(start->worker, start->run, *function, 0);
    } else if (const auto* build = std::get_if<BuildResource>(&action)) {
      const std::shared_ptr<Function> function = function_of(build->resource);
      const bool is_due = core_.is_running(build->worker, build->run);
      lock.unlock();
      if (function != nullptr && is_due) run(build->worker, build->run, *function, build->resource);
    } else if (const auto* stop = std::get_if<StopRun>(&action)) {
      lock.unlock();
      if (peers_[stop->worker].greeted)
        peers_[stop->worker].pool->async_call<StopFunction>({session_, stop->run}, options_.stop_within,
                                                            [](std::error_code, Empty) {});
    } else if (const auto* close = std::get_if<CloseWorker>(&action)) {
      lock.unlock();
      connect(close->worker, coordinator_errc::function_overdue);
    }
  }
  arm();
}

DISTRIB_DECL void CoordinatorShell::run(std::uint32_t worker, std::uint64_t run, const Function& function,
                                        std::uint64_t resource) {
  Peer& peer = peers_[worker];
  if (!peer.greeted) return;  // the core hears of the loss
  RunRequest request{session_, peer.process,
                     run,      method_id(function.name),
                     resource, function.arguments[function.arguments.size() == 1 ? 0 : worker]};
  peer.pool->async_call<RunFunction>(
      std::move(request), std::nullopt,
      [this, worker, connection = peer.connection, run](const std::error_code& ec, RunReply reply) {
        ran(worker, connection, run, ec, std::move(reply));
      });
}

DISTRIB_DECL void CoordinatorShell::ran(std::uint32_t worker, std::uint64_t connection, std::uint64_t run,
                                        const std::error_code& ec, RunReply reply) {
  Peer& peer = peers_[worker];
  if (peer.connection != connection) return;  // this loss was told already
  RunEnd end;
  const bool is_of_run = ec == rpc_errc::bad_message || ec == rpc_errc::too_large || ec == rpc_errc::unknown_method;
  const bool is_of_worker = ec == rpc_errc::exhausted || ec.category() != rpc_category();
  if (ec && !is_of_run) {
    if (is_of_worker) connect(worker, ec);  // otherwise the connection has ended, and the pool reports that
    return;
  }
  if (ec) end.error = {ec, "Run"};
  else if (!reply.error.empty()) end.error = decode_error(reply.error, categories_);
  end.unreachable_ps = std::move(reply.unreachable_ps);
  tell([&](CoordinatorCore& core,
           const Out& out) { core.ended(worker, run, std::move(end), std::chrono::steady_clock::now(), out); },
       std::move(reply.body));
}

// Closes the connection to the worker, if there is one, because of `why`, and connects again.
DISTRIB_DECL void CoordinatorShell::connect(std::uint32_t worker, const std::error_code& why) {
  Peer& peer = peers_[worker];
  if (peer.ended) return;
  const bool was_greeted = peer.greeted;
  lost(worker);
  RpcClientPoolOptions how;
  how.client.limits.body_bytes = options_.max_bytes + (1U << 10);
  how.client.silent_after = options_.silent_after;
  how.client.ping_after = std::min(how.client.ping_after, options_.silent_after / 3);
  how.client.categories = categories_;
  how.client.secret = options_.secret;
  how.client.transport = options_.tls;
  how.retry.most_attempts = 1;
  how.seed = session_ + worker;
  how.observer = [this, worker](const Event& event) { happened(worker, event); };
  peer.pool.emplace(io_.executor(0), peer.address, std::move(how));
  if (!was_greeted) return;
  tell([&](CoordinatorCore& core, const Out& out) { core.lost(worker, std::chrono::steady_clock::now(), out); });
  report(worker, Event::Kind::lost, why);
}

DISTRIB_DECL void CoordinatorShell::lost(std::uint32_t worker) {
  Peer& peer = peers_[worker];
  ++peer.connection;
  peer.greeted = peer.ends = false;
}

DISTRIB_DECL void CoordinatorShell::happened(std::uint32_t worker, const Event& event) {
  Peer& peer = peers_[worker];
  if (event.kind == Event::Kind::lost) {
    lost(worker);
    tell([&](CoordinatorCore& core, const Out& out) { core.lost(worker, std::chrono::steady_clock::now(), out); });
  }
  if (event.kind == Event::Kind::connected) hello(worker);
  if (event.code == rpc_errc::unauthorized || is_tls_refusal(event.code)) refused(worker, event.code, event.text);
  if (!peer.ended) report(worker, event.kind, event.code);
}

DISTRIB_DECL void CoordinatorShell::report(std::uint32_t worker, Event::Kind kind, const std::error_code& code) const {
  if (!options_.observer) return;
  const std::string name = to_string(TaskId{"worker", worker});
  options_.observer(
      {kind, "/job:chief/task:0", name, code,
       name + " at " + peers_[worker].address.to_string() + ": " + (code ? code.message() : "connected")});
}

DISTRIB_DECL void CoordinatorShell::hello(std::uint32_t worker) {
  Peer& peer = peers_[worker];
  const auto where = std::make_shared<std::string>();
  peer.pool->async_call<Hello>(
      {session_, worker, static_cast<std::uint32_t>(peers_.size()), digest_},
      CallOptions{bounded_time(options_.silent_after), {}, where.get()},
      [this, worker, connection = peer.connection, where](const std::error_code& ec, HelloReply reply) {
        greeted(worker, connection, ec, *where, reply);
      });
}

DISTRIB_DECL void CoordinatorShell::greeted(std::uint32_t worker, std::uint64_t connection, const std::error_code& ec,
                                            const std::string& where, HelloReply reply) {
  Peer& peer = peers_[worker];
  if (peer.connection != connection) return;
  if (ec == coordinator_errc::other_functions || ec == coordinator_errc::no_workers || ec == rpc_errc::unknown_method)
    return refused(worker, ec, where);
  if (ec == rpc_errc::deadline_passed) return connect(worker, ec);
  if (ec) return;  // the connection is lost, and another one follows
  peer.greeted = true;
  peer.process = reply.process;
  tell([&](CoordinatorCore& core, const Out& out) {
    core.connected(worker, reply.process, std::chrono::steady_clock::now(), out);
  });
  if (ends_workers_) end_worker(worker);
}

DISTRIB_DECL void CoordinatorShell::refused(std::uint32_t worker, const std::error_code& code,
                                            const std::string& where) {
  if (std::exchange(peers_[worker].refused, code) == code) return;  // once, not with each try to connect
  tell([&](CoordinatorCore& core, const Out&) { core.refused(worker, {code, where}); });
}

DISTRIB_DECL void CoordinatorShell::end_worker(std::uint32_t worker) {
  Peer& peer = peers_[worker];
  if (!peer.greeted || peer.ended || std::exchange(peer.ends, true)) return;
  const auto where = std::make_shared<std::string>();
  peer.pool->async_call<EndWorker>(
      {}, CallOptions{bounded_time(options_.end_within), {}, where.get()},
      [this, worker, connection = peer.connection, where](const std::error_code& ec, Empty) {
        Peer& of = peers_[worker];
        if (of.connection != connection || (ec && ec.category() == rpc_category())) return;
        of.ended = true;
        lost(worker);
        of.pool.reset();  // it waits for that
        const std::scoped_lock lock{mutex_};
        has_ended_[worker] = true;
        if (ec && !end_error_) end_error_ = {ec, to_string(TaskId{"worker", worker}) + ": " + *where};
        changed_.notify_all();
      });
}

DISTRIB_DECL void CoordinatorShell::arm() {
  std::optional<Instant> at;
  {
    const std::scoped_lock lock{mutex_};
    at = core_.wake();
  }
  const Instant next = at.value_or(Instant::max());
  if (next == armed_) return;
  armed_ = next;
  if (!at) return timer_.cancel(), void();
  timer_.expires_at(next);
  timer_.async_wait([this](const std::error_code& ec) {
    if (ec) return;
    armed_ = Instant::max();
    tell([](CoordinatorCore& core, const Out& out) { core.woken(std::chrono::steady_clock::now(), out); });
  });
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
