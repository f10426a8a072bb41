// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/coordinator/detail/worker_shell.hpp>

#include <distrib/cluster/task_id.hpp>
#include <distrib/coordinator/detail/random_number.hpp>
#include <distrib/coordinator/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/run_on.hpp>
#include <distrib/net/signals.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/ps/job/client_rules.hpp>
#include <distrib/rpc/remote_error.hpp>

#include <exception>
#include <memory>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL WorkerShell::WorkerShell(const ClusterSpec& cluster, std::uint32_t index, FunctionTable functions,
                                      std::string digest, FunctionWorkerOptions options,
                                      std::optional<ParameterJob> job)
    : index_{index},
      workers_{static_cast<std::uint32_t>(cluster.num_tasks("worker"))},
      functions_{std::move(functions)},
      digest_{std::move(digest)},
      options_{std::move(options)},
      process_{random_number()} {
  const Address address = Address::parse(cluster.task_address("worker", index));
  Error error;
  check_transport_of_job(options_.tls, error);
  const auto rules = std::make_shared<const ClientRules>(client_rules(cluster));
  if (!error && options_.tls) options_.tls->check(address.host, *rules, error);
  throw_if(error);
  if (job) {
    WorkerClientOptions of_client;
    of_client.rpc.secret = options_.secret;
    of_client.rpc.transport = options_.tls;
    of_client.lost_after = options_.ps_lost_after;
    of_client.observer = options_.observer;
    parameters_ = std::make_unique<ParameterClient>(io_, std::move(*job), index, std::move(of_client));
  }
  RpcServerOptions of_server;
  of_server.limits.body_bytes = options_.max_bytes;
  of_server.secret = options_.secret;
  of_server.transport = options_.tls;
  of_server.clients = rules;
  try {
    server_ = std::make_unique<RpcPoolServer<Dispatch>>(
        io_, address,
        [this](std::size_t) -> Dispatch {
          return {this, RouterOf<Hello, RunFunction, StopFunction, EndWorker>{
                            {Serve{this}}, {Serve{this}}, {Serve{this}}, {Serve{this}}}};
        },
        of_server);
  } catch (...) {  // the client must not run any more when it is destroyed
    io_.stop();
    io_.join();
    throw;
  }
  refresh_.emplace(io_.executor(0), options_.tls, OwnIdentity{address.host, rules}, options_.observer);
}

DISTRIB_DECL WorkerShell::~WorkerShell() {
  server_.reset();
  io_.stop();
  try {
    io_.join();
  } catch (...) {  // ignored: `run()` has thrown it, or it came too late for it
  }
  coordinator_.reset();
  tasks_.clear();
}

DISTRIB_DECL auto WorkerShell::run() -> int {
  const auto work = asio::make_work_guard(context_);
  asio::post(io_.executor(0), [this] {
    if (coordinator_ == nullptr) wait_for_coordinator();
  });
  {
    const Signals signals{io_.executor(0), [this] { stop(); }};  // not on the thread that functions keep
    context_.run();
  }
  if (!is_over_) io_.join();  // the I/O thread has failed: throw its exception
  return code_;
}

DISTRIB_DECL void WorkerShell::stop() {
  leaves_ = true;
  asio::post(io_.executor(0), [this] { stop_tasks(); });
  asio::post(context_, [this] { finish(exit_code::again, {}); });
}

// --- on the I/O thread ---

DISTRIB_DECL void WorkerShell::serve(HelloRequest request, Call<Hello, Connection> call) {
  if (request.functions != digest_) return call.fail(coordinator_errc::other_functions);
  if (request.worker != index_ || request.workers != workers_)
    return call.fail(coordinator_errc::no_workers,
                     "it is " + to_string(TaskId{"worker", index_}) + " of " + std::to_string(workers_) +
                         ", not number " + std::to_string(request.worker) + " of " + std::to_string(request.workers));
  if (request.session != session_) {
    stop_tasks();
    session_ = request.session;
    asio::post(context_, [this] { resources_.clear(); });  // before the first function of the session
  }
  no_coordinator_.cancel();
  coordinator_ = call.connection();
  call.reply({process_});
}

DISTRIB_DECL void WorkerShell::serve(RunRequest request, Call<RunFunction, Connection> call) {
  if (request.process != process_ || request.session != session_) return call.fail(coordinator_errc::other_process);
  const std::pair name{request.session, request.run};
  if (tasks_.size() >= most_tasks || tasks_.contains(name)) return call.fail(rpc_errc::exhausted);
  auto task = std::shared_ptr<Task>{new Task{std::move(request), call.from_anywhere(), {}}};
  task->run.worker = index_;
  task->run.workers = workers_;
  task->run.parameters = parameters_.get();
  task->run.ps_within = options_.ps_within;
  tasks_[name] = task;
  asio::post(context_, [this, task = std::move(task)] { carry_out(task); });
}

DISTRIB_DECL void WorkerShell::serve(StopRequest request, Call<StopFunction, Connection> call) {
  if (const auto found = tasks_.find({request.session, request.run}); found != tasks_.end()) {
    found->second->run.stopped = true;
    if (parameters_ != nullptr) parameters_->wake_up();
  }
  call.reply({});
}

DISTRIB_DECL void WorkerShell::serve(Empty, Call<EndWorker, Connection> call) {
  if (call.connection() != coordinator_) return call.fail(coordinator_errc::other_process);
  asio::post(context_, [this, answer = call.from_anywhere()] { end(answer); });
}

DISTRIB_DECL void WorkerShell::closed(const Connection& connection) {
  if (connection != coordinator_) return;
  coordinator_ = nullptr;
  if (leaving_) return leave();
  stop_tasks();
  wait_for_coordinator();
}

DISTRIB_DECL void WorkerShell::stop_tasks() {
  for (const auto& [run, task] : tasks_) task->run.stopped = true;
  if (parameters_ != nullptr) parameters_->wake_up();
}

DISTRIB_DECL void WorkerShell::wait_for_coordinator() {
  no_coordinator_.expires_after(bounded_time(options_.coordinator_within));
  no_coordinator_.async_wait([this](const std::error_code& ec) {
    if (ec || coordinator_ != nullptr) return;
    asio::post(context_, [this] {
      finish(exit_code::again, {coordinator_errc::no_coordinator, to_string(TaskId{"worker", index_})});
    });
  });
}

DISTRIB_DECL void WorkerShell::leave() {
  asio::post(context_, [this, end = *leaving_] { finish(end.first, end.second); });
}

// --- on the thread of run() ---

DISTRIB_DECL void WorkerShell::carry_out(const std::shared_ptr<Task>& task) {
  if (is_over_) return;
  RunReply reply;
  Error error{coordinator_errc::cancelled, {}};
  if (!task->run.stopped) error = call_function(*task, reply);
  if (error) {
    WireWriter writer;
    encode_error(writer, error.code, std::string_view{error.where}.substr(0, 4096));
    reply.error = writer.take();
    reply.body = nullptr;
    if (error.code == coordinator_errc::ps_unreachable) {
      reply.unreachable_ps = task->run.unreachable_ps;
      if (reply.unreachable_ps.size() > RunReply::most_ps) reply.unreachable_ps.resize(RunReply::most_ps);
    }
  }
  if (leaves_) return;  // the coordinator runs it elsewhere when this process is gone
  task->answer.reply(std::move(reply));
  asio::post(io_.executor(0), [this, task] { tasks_.erase({task->request.session, task->request.run}); });
}

DISTRIB_DECL auto WorkerShell::call_function(Task& task, RunReply& reply) -> Error {
  const auto found = functions_.find(task.request.function);
  if (found == functions_.end()) return {coordinator_errc::unknown_function, {}};
  FunctionContext context{task.run};
  const ByteView arguments = task.request.body == nullptr ? ByteView{} : task.request.body->bytes();
  Error error;
  try {
    error = found->second.call(context, resources_, task.request.resource, arguments, reply.body);
  } catch (const std::system_error& thrown) {
    error = error_of(thrown);
    if (!error) error = {coordinator_errc::function_failed, thrown.what()};  // a system_error without a code
  } catch (const std::exception& thrown) {
    error = {coordinator_errc::function_failed, thrown.what()};
  } catch (...) {
    error = {coordinator_errc::function_failed, "an exception that is no std::exception"};
  }
  if (!error && reply.body != nullptr && reply.body->size() > options_.max_bytes)
    error = {coordinator_errc::too_large, std::to_string(reply.body->size()) + " bytes of result, allowed are " +
                                              std::to_string(options_.max_bytes)};
  if (!error && task.run.parameters != nullptr) {  // its pushes are part of the function
    ParameterError failed = task.run.parameters->settle(
        instant_after(std::chrono::steady_clock::now(), options_.ps_within), task.run.stopped);
    task.run.unreachable_ps = std::move(failed.unreachable_ps);
    error = std::move(failed.error);
  }
  return error;
}

DISTRIB_DECL void WorkerShell::end(const Answer<EndWorker>& answer) {
  if (is_over_) return;
  resources_.clear();
  Error why;
  int code = exit_code::done;
  if (parameters_ != nullptr) {
    const std::atomic<bool> never = false;
    ParameterError failed =
        parameters_->finish(instant_after(std::chrono::steady_clock::now(), options_.end_within), never);
    why = std::move(failed.error);
    if (why) code = why.code == coordinator_errc::ps_unreachable ? exit_code::somebody_lost : exit_code::refused;
  }
  if (why) answer.fail(why.code, why.where);
  else answer.reply({});
  // The coordinator hangs up when it has the answer.
  asio::post(io_.executor(0), [this, end = std::pair{code, std::move(why)}] {
    leaving_ = end;
    if (coordinator_ == nullptr) return leave();
    no_coordinator_.expires_after(hang_up_within);
    no_coordinator_.async_wait([this](const std::error_code& ec) {
      if (!ec) leave();
    });
  });
}

DISTRIB_DECL void WorkerShell::finish(int code, Error why) {
  if (std::exchange(is_over_, true)) return;
  code_ = code;
  why_ = std::move(why);
  context_.stop();
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
