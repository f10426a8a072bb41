// SPDX-License-Identifier: Apache-2.0
// What a careful user writes by hand with gRPC C++: values as packed bytes, all state behind one mutex, a plain loop
// compiled with -O3 -march=native, and one call for a push with a pull. Rows are in one array, and a std::unordered_map
// has their positions. The server uses completion queues, or with `--style sync` one thread for each call. The worker
// uses a completion queue; with `--style sync` and one call in flight its calls block. Messages are built before
// measuring begins. Every call has a deadline.
#include "values.hpp"

#include "parameters.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using distrib::benchmark::Block;
using distrib::benchmark::Parameters;

void apply_row(float* __restrict row, const float* __restrict gradient) {
  for (std::size_t i = 0; i < row_floats; ++i) row[i] -= learning_rate * gradient[i];
}

/// The rows by key. A new row is zeros.
class Rows {
 public:
  void push(const Block& request) {
    const std::size_t count = request.keys().size() / sizeof(std::uint64_t);
    if (request.values().size() != count * row_bytes) fail("the gradients have the wrong size");
    const auto* gradient = reinterpret_cast<const float*>(request.values().data());
    for (std::size_t n = 0; n < count; ++n, gradient += row_floats) {
      const auto [found, is_new] = numbers_.try_emplace(key(request, n), static_cast<std::uint32_t>(numbers_.size()));
      if (is_new) floats_.resize(floats_.size() + row_floats);
      apply_row(&floats_[found->second * row_floats], gradient);
    }
  }

  void pull(const Block& request, Block& reply) const {
    const std::size_t count = request.keys().size() / sizeof(std::uint64_t);
    std::string& values = *reply.mutable_values();
    values.resize(count * row_bytes);
    for (std::size_t n = 0; n < count; ++n) {
      const auto found = numbers_.find(key(request, n));
      if (found == numbers_.end()) continue;
      std::memcpy(&values[n * row_bytes], &floats_[found->second * row_floats], row_bytes);
    }
  }

 private:
  static auto key(const Block& request, std::size_t n) -> std::uint64_t {
    std::uint64_t key = 0;
    std::memcpy(&key, request.keys().data() + n * sizeof key, sizeof key);
    return key;
  }

  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::vector<float> floats_;
};

/// The state of the server: dense variables by key, and rows.
class Table {
 public:
  explicit Table(std::size_t bytes) : elements_{bytes / sizeof(float)} {}

  void push(const Block& request, Block&) {
    const std::scoped_lock lock{mutex_};
    if (request.keys().empty()) apply(request);
    else rows_.push(request);
  }
  void pull(const Block& request, Block& reply) {
    const std::scoped_lock lock{mutex_};
    if (request.keys().empty()) reply.set_values(values_of(request).data(), elements_ * sizeof(float));
    else rows_.pull(request, reply);
  }
  void push_pull(const Block& request, Block& reply) {
    const std::scoped_lock lock{mutex_};
    const auto& values = apply(request);
    reply.set_values(values.data(), elements_ * sizeof(float));
  }

 private:
  auto values_of(const Block& request) -> std::vector<float>& {
    return variables_.try_emplace(request.key(), elements_).first->second;
  }

  auto apply(const Block& request) -> const std::vector<float>& {
    std::vector<float>& values = values_of(request);
    if (request.values().size() != elements_ * sizeof(float)) fail("a gradient has the wrong size");
    const auto* const gradient = reinterpret_cast<const float*>(request.values().data());
    for (std::size_t i = 0; i < elements_; ++i) values[i] -= learning_rate * gradient[i];
    return values;
  }

  std::size_t elements_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::vector<float>> variables_;
  Rows rows_;
};

// --- servers ---

/// A pending operation of a completion queue; `done` is called when it ends.
struct Tag {
  virtual ~Tag() = default;
  virtual void done(bool ok) = 0;
};

void run(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) static_cast<Tag*>(tag)->done(ok);
}

constexpr int waiting_calls = 100;  // calls of each method that each queue of a server is ready to accept

using Service = Parameters::AsyncService;
using Ask = void (Service::*)(grpc::ServerContext*, Block*, grpc::ServerAsyncResponseWriter<Block>*,
                              grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*);
using Answer = void (Table::*)(const Block&, Block&);

class QueueCall final : public Tag {
 public:
  QueueCall(Service& service, grpc::ServerCompletionQueue& queue, Table& table, Ask ask, Answer answer)
      : service_{service}, queue_{queue}, table_{table}, ask_{ask}, answer_{answer} {
    (service_.*ask_)(&context_, &request_, &writer_, &queue_, &queue_, this);
  }
  void done(bool ok) override {
    if (!ok || answered_) {
      delete this;
      return;
    }
    new QueueCall{service_, queue_, table_, ask_, answer_};
    (table_.*answer_)(request_, reply_);
    answered_ = true;
    writer_.Finish(reply_, grpc::Status::OK, this);
  }

 private:
  Service& service_;
  grpc::ServerCompletionQueue& queue_;
  Table& table_;
  Ask ask_;
  Answer answer_;
  grpc::ServerContext context_;
  Block request_, reply_;
  grpc::ServerAsyncResponseWriter<Block> writer_{&context_};
  bool answered_ = false;
};

class SyncServer final : public Parameters::Service {
 public:
  explicit SyncServer(Table& table) : table_{table} {}

 private:
  auto Push(grpc::ServerContext*, const Block* request, Block* reply) -> grpc::Status override {
    table_.push(*request, *reply);
    return grpc::Status::OK;
  }
  auto Pull(grpc::ServerContext*, const Block* request, Block* reply) -> grpc::Status override {
    table_.pull(*request, *reply);
    return grpc::Status::OK;
  }
  auto PushPull(grpc::ServerContext*, const Block* request, Block* reply) -> grpc::Status override {
    table_.push_pull(*request, *reply);
    return grpc::Status::OK;
  }

  Table& table_;
};

void serve(const Options& options) {
  Table table{options.bytes};
  Service service;
  SyncServer sync{table};
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  if (options.style == "sync") builder.RegisterService(&sync);
  else builder.RegisterService(&service);
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;
  for (std::size_t i = 0; i < options.threads && options.style != "sync"; ++i)
    queues.push_back(builder.AddCompletionQueue());
  const auto server = builder.BuildAndStart();
  for (const auto& queue : queues) {
    for (int i = 0; i < waiting_calls; ++i) {
      new QueueCall{service, *queue, table, &Service::RequestPush, &Table::push};
      new QueueCall{service, *queue, table, &Service::RequestPull, &Table::pull};
      new QueueCall{service, *queue, table, &Service::RequestPushPull, &Table::push_pull};
    }
  }
  tell_port(port);
  std::vector<std::jthread> threads;
  for (const auto& queue : queues) threads.emplace_back([&queue] { run(*queue); });
  server->Wait();
}

// --- workers ---

void set_deadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{10});
}

void check(const grpc::Status& status) {
  if (!status.ok()) fail(status.error_message());
}

auto floats(const Block& block) -> std::vector<float> {
  std::vector<float> copy(block.values().size() / sizeof(float));
  std::memcpy(copy.data(), block.values().data(), copy.size() * sizeof(float));
  return copy;
}

/// The state that all calls of a worker share.
class Loop {
 public:
  Loop(const Options& of, Parameters::Stub& to) : options{of}, load{of}, stub{to} {
    if (of.keys == 0) requests_.emplace_back();
    for (const std::vector<std::uint64_t>& keys : request_keys_of(of))
      requests_.emplace_back().set_keys(keys.data(), keys.size() * sizeof(std::uint64_t));
    const std::size_t bytes = of.keys == 0 ? of.bytes : of.keys * row_bytes;
    const auto made = gradient(bytes, pulled());
    for (Block& request : requests_) request.set_values(made.data(), bytes);
    for (const Block& request : requests_) push(request);  // after this the server has all rows
    requests_.resize(std::min(requests_.size(), request_count));
    const auto before = pulled();
    push(requests_.front());
    check_applied(before, made, pulled());
    if (of.method == "push") return;
    reply_bytes_ = bytes;
    if (of.method == "pull")
      for (Block& request : requests_) request.clear_values();
  }

  /// Returns the next request in turn. It lives as long as this object.
  [[nodiscard]] auto next_request() -> const Block& {
    next_ = (next_ + 1) % requests_.size();
    return requests_[next_];
  }

  void ended(const grpc::Status& status, const Block& reply) {
    check(status);
    if (reply.values().size() != reply_bytes_) fail("the values have the wrong size");
    load.completed();
  }

  const Options& options;
  Load load;
  Parameters::Stub& stub;
  grpc::CompletionQueue queue;

 private:
  static auto request_keys_of(const Options& options) -> std::vector<std::vector<std::uint64_t>> {
    return options.keys == 0 ? std::vector<std::vector<std::uint64_t>>{} : request_keys(options.keys);
  }

  void push(const Block& request) {
    grpc::ClientContext context;
    set_deadline(context);
    Block reply;
    check(stub.Push(&context, request, &reply));
  }

  auto pulled() -> std::vector<float> {
    grpc::ClientContext context;
    set_deadline(context);
    Block request, reply;
    request.set_keys(requests_.front().keys());
    check(stub.Pull(&context, request, &reply));
    return floats(reply);
  }

  std::vector<Block> requests_;
  std::size_t next_ = 0;
  std::size_t reply_bytes_ = 0;
};

/// One call in flight: whenever it ends, it begins again.
class Call final : public Tag {
 public:
  explicit Call(Loop& loop) : loop_{loop} { begin(); }

  void done(bool) override {
    loop_.ended(status_, reply_);
    reader_.reset();
    context_.reset();
    begin();
  }

 private:
  void begin() {
    context_.emplace();
    set_deadline(*context_);
    const Block& request = loop_.next_request();
    reader_ = loop_.options.method == "push"   ? loop_.stub.AsyncPush(&*context_, request, &loop_.queue)
              : loop_.options.method == "pull" ? loop_.stub.AsyncPull(&*context_, request, &loop_.queue)
                                               : loop_.stub.AsyncPushPull(&*context_, request, &loop_.queue);
    reader_->Finish(&reply_, &status_, this);
  }

  Loop& loop_;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Block>> reader_;
  Block reply_;
  grpc::Status status_;
};

[[noreturn]] void block_for_ever(Loop& loop) {
  for (Block reply;;) {
    grpc::ClientContext context;
    set_deadline(context);
    const Block& request = loop.next_request();
    const grpc::Status status = loop.options.method == "push"   ? loop.stub.Push(&context, request, &reply)
                                : loop.options.method == "pull" ? loop.stub.Pull(&context, request, &reply)
                                                                : loop.stub.PushPull(&context, request, &reply);
    loop.ended(status, reply);
  }
}

void load(const Options& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  const auto channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(options.port),
                                                 grpc::InsecureChannelCredentials(), arguments);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds{60}))
    fail("no connection to the server in 60 s");
  const auto stub = Parameters::NewStub(channel);
  Loop loop{options, *stub};
  loop.load.start();
  if (options.style == "sync" && options.in_flight == 1) block_for_ever(loop);
  for (std::size_t i = 0; i < options.in_flight; ++i) new Call{loop};
  run(loop.queue);
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const Options options{argc, argv};
  options.role == "serve" ? serve(options) : load(options);
}
