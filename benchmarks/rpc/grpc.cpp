// SPDX-License-Identifier: Apache-2.0
// gRPC C++. Servers: completion queue, callback, or generic (byte buffers, no copy through protobuf). Clients:
// completion queue or generic, on one thread. Every call has a deadline.
#include "load.hpp"

#include "blob.grpc.pb.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using distrib::benchmark::Blob;
using distrib::benchmark::Bytes;

/// Returns the body of the answer.
auto reply_to(std::string_view method, std::string_view body) -> std::string_view {
  if (method == "echo") return body;
  if (method == "push") return {block().data(), small_bytes};
  std::uint32_t size = 0;
  std::memcpy(&size, body.data(), std::min(body.size(), sizeof size));
  return {block().data(), std::min<std::size_t>(size, block_bytes)};
}

/// Returns a file of the directory of certificates.
auto certificate_file(const Options& options, const std::string& name) -> std::string {
  std::ifstream file{options.tls + "/" + name, std::ios::binary};
  if (!file) fail("cannot read " + options.tls + "/" + name);
  return {std::istreambuf_iterator<char>{file}, {}};
}

// With TLS both ends ask for a certificate of the authority.
auto server_credentials(const Options& options) -> std::shared_ptr<grpc::ServerCredentials> {
  if (options.tls.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions how{GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY};
  how.pem_root_certs = certificate_file(options, "ca.crt");
  how.pem_key_cert_pairs = {{certificate_file(options, "tls.key"), certificate_file(options, "tls.crt")}};
  return grpc::SslServerCredentials(how);
}
auto channel_credentials(const Options& options) -> std::shared_ptr<grpc::ChannelCredentials> {
  if (options.tls.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions how;
  how.pem_root_certs = certificate_file(options, "ca.crt");
  how.pem_private_key = certificate_file(options, "tls.key");
  how.pem_cert_chain = certificate_file(options, "tls.crt");
  return grpc::SslCredentials(how);
}

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

// --- completion queue ---

using Service = Blob::AsyncService;
using Ask = void (Service::*)(grpc::ServerContext*, Bytes*, grpc::ServerAsyncResponseWriter<Bytes>*,
                              grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*);

class QueueCall final : public Tag {
 public:
  QueueCall(Service& service, grpc::ServerCompletionQueue& queue, const char* method, Ask ask)
      : service_{service}, queue_{queue}, method_{method}, ask_{ask} {
    (service_.*ask_)(&context_, &request_, &writer_, &queue_, &queue_, this);
  }
  void done(bool ok) override {
    if (!ok || answered_) {
      delete this;
      return;
    }
    new QueueCall{service_, queue_, method_, ask_};
    const auto reply = reply_to(method_, request_.data());
    reply_.set_data(reply.data(), reply.size());
    answered_ = true;
    writer_.Finish(reply_, grpc::Status::OK, this);
  }

 private:
  Service& service_;
  grpc::ServerCompletionQueue& queue_;
  const char* method_;
  Ask ask_;
  grpc::ServerContext context_;
  Bytes request_, reply_;
  grpc::ServerAsyncResponseWriter<Bytes> writer_{&context_};
  bool answered_ = false;
};

// --- callback ---

class CallbackServer final : public Blob::CallbackService {
  static auto answer(grpc::CallbackServerContext* context, const char* method, const Bytes* request, Bytes* reply)
      -> grpc::ServerUnaryReactor* {
    const auto body = reply_to(method, request->data());
    reply->set_data(body.data(), body.size());
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  auto Echo(grpc::CallbackServerContext* context, const Bytes* request, Bytes* reply)
      -> grpc::ServerUnaryReactor* override {
    return answer(context, "echo", request, reply);
  }
  auto Push(grpc::CallbackServerContext* context, const Bytes* request, Bytes* reply)
      -> grpc::ServerUnaryReactor* override {
    return answer(context, "push", request, reply);
  }
  auto Pull(grpc::CallbackServerContext* context, const Bytes* request, Bytes* reply)
      -> grpc::ServerUnaryReactor* override {
    return answer(context, "pull", request, reply);
  }
};

// --- byte buffers: the same messages, encoded and decoded by hand ---

/// Encodes a message `Bytes`: tag and length of its field, then the bytes. More than 2048 bytes are not copied, so they
/// must live until they are sent.
auto to_buffer(std::string_view bytes) -> grpc::ByteBuffer {
  std::string head{'\x0a'};
  std::size_t left = bytes.size();
  for (; left >= 128; left >>= 7) head.push_back(static_cast<char>(left | 128));
  head.push_back(static_cast<char>(left));
  if (bytes.size() <= 2048) {
    const grpc::Slice whole{head.append(bytes)};
    return {&whole, 1};
  }
  const std::array<grpc::Slice, 2> slices{grpc::Slice{head},
                                          grpc::Slice{bytes.data(), bytes.size(), grpc::Slice::STATIC_SLICE}};
  return {slices.data(), slices.size()};
}

/// Returns the bytes of a message whose encoding fits into `memory`, copied there. For a larger message returns a view
/// of about the right size, but not of its bytes: no method reads them.
auto from_buffer(const grpc::ByteBuffer& buffer, std::array<char, 512>& memory) -> std::string_view {
  if (buffer.Length() > memory.size()) return {block().data(), buffer.Length() - 1 - 4};
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) fail("a byte buffer cannot be read");
  std::size_t size = 0;
  for (const grpc::Slice& slice : slices) {
    std::memcpy(memory.data() + size, slice.begin(), slice.size());
    size += slice.size();
  }
  const std::size_t head = size < 2 || (memory[1] & 0x80) == 0 ? 2 : 3;
  return size < head ? std::string_view{} : std::string_view{memory.data() + head, size - head};
}

class GenericCall final : public Tag {
 public:
  GenericCall(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue)
      : service_{service}, queue_{queue} {
    service_.RequestCall(&context_, &stream_, &queue_, &queue_, this);
  }
  void done(bool ok) override {
    if (!ok || state_ == State::answered) {
      delete this;
    } else if (state_ == State::waits) {
      new GenericCall{service_, queue_};
      state_ = State::reads;
      stream_.Read(&request_, this);
    } else {
      state_ = State::answered;
      const std::string& path = context_.method();
      const std::string_view method = path.ends_with("Push") ? "push" : path.ends_with("Pull") ? "pull" : "echo";
      std::array<char, 512> memory;
      stream_.WriteAndFinish(to_buffer(reply_to(method, from_buffer(request_, memory))), {}, grpc::Status::OK, this);
    }
  }

 private:
  enum class State { waits, reads, answered };
  grpc::AsyncGenericService& service_;
  grpc::ServerCompletionQueue& queue_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  grpc::ByteBuffer request_;
  State state_ = State::waits;
};

void serve(const Options& options) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", server_credentials(options), &port);
  builder.SetMaxReceiveMessageSize(-1);
  Service service;
  CallbackServer callback;
  grpc::AsyncGenericService generic;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;
  if (options.style == "callback") {
    builder.RegisterService(&callback);
  } else {
    if (options.style == "generic") builder.RegisterAsyncGenericService(&generic);
    else builder.RegisterService(&service);
    for (std::size_t i = 0; i < options.threads; ++i) queues.push_back(builder.AddCompletionQueue());
  }
  const auto server = builder.BuildAndStart();
  for (const auto& queue : queues) {
    for (int i = 0; i < waiting_calls; ++i) {
      if (options.style == "generic") {
        new GenericCall{generic, *queue};
        continue;
      }
      new QueueCall{service, *queue, "echo", &Service::RequestEcho};
      new QueueCall{service, *queue, "push", &Service::RequestPush};
      new QueueCall{service, *queue, "pull", &Service::RequestPull};
    }
  }
  map_counters(options);
  block();
  tell_port(port);
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < queues.size(); ++i) threads.emplace_back([&queue = *queues[i]] { run(queue); });
  if (queues.empty()) server->Wait();
  else run(*queues[0]);
}

// --- clients ---

struct Loop {
  const Options& options;
  Load load;
  grpc::CompletionQueue queue;
  std::string request;

  void ended(const grpc::Status& status, std::size_t size) {
    if (!status.ok()) fail(status.error_message());
    if (size != reply_size(options)) fail("a reply has the wrong size");
    load.completed();
  }
};

/// One call in flight: whenever it ends, it begins again (role load only).
class Call final : public Tag {
 public:
  Call(Loop& loop, Blob::Stub& stub) : loop_{loop}, stub_{stub} {
    request_.set_data(loop.request);
    begin();
  }
  void done(bool) override {
    loop_.ended(status_, reply_.data().size());
    reader_.reset();
    context_.reset();
    if (loop_.options.role == "load") begin();
  }

 private:
  void begin() {
    context_.emplace();
    context_->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{10});
    reader_ = loop_.options.method == "push"   ? stub_.AsyncPush(&*context_, request_, &loop_.queue)
              : loop_.options.method == "pull" ? stub_.AsyncPull(&*context_, request_, &loop_.queue)
                                               : stub_.AsyncEcho(&*context_, request_, &loop_.queue);
    reader_->Finish(&reply_, &status_, this);
  }

  Loop& loop_;
  Blob::Stub& stub_;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Bytes>> reader_;
  Bytes request_, reply_;
  grpc::Status status_;
};

class GenericClientCall final : public Tag {
 public:
  GenericClientCall(Loop& loop, grpc::GenericStub& stub) : loop_{loop}, stub_{stub} {
    request_ = to_buffer(loop.options.method == "push" ? std::string_view{block().data(), loop.options.bytes}
                                                       : std::string_view{loop.request});
    method_ = loop.options.method == "push"   ? "/distrib.benchmark.Blob/Push"
              : loop.options.method == "pull" ? "/distrib.benchmark.Blob/Pull"
                                              : "/distrib.benchmark.Blob/Echo";
    begin();
  }
  void done(bool) override {
    const std::size_t length = reply_.Length();
    std::size_t head = 2;
    for (std::size_t left = loop_.options.bytes; left >= 128 && length > 128; left >>= 7) ++head;
    loop_.ended(status_, length - head);
    reader_.reset();
    context_.reset();
    reply_.Clear();
    begin();
  }

 private:
  void begin() {
    context_.emplace();
    context_->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{10});
    reader_ = stub_.PrepareUnaryCall(&*context_, method_, request_, &loop_.queue);
    reader_->StartCall();
    reader_->Finish(&reply_, &status_, this);
  }

  Loop& loop_;
  grpc::GenericStub& stub_;
  std::string method_;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader_;
  grpc::ByteBuffer request_, reply_;
  grpc::Status status_;
};

void load(const Options& options) {
  const auto bytes = request_bytes(options);
  Loop loop{options, Load{options}, {}, {bytes.begin(), bytes.end()}};
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  std::vector<std::unique_ptr<Blob::Stub>> stubs;
  std::vector<std::unique_ptr<grpc::GenericStub>> generic_stubs;
  for (std::size_t i = 0; i < options.connections; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // each channel has its own connection
    channels.push_back(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(options.port),
                                                 channel_credentials(options), arguments));
    channels.back()->GetState(true);
    stubs.push_back(Blob::NewStub(channels.back()));
    generic_stubs.push_back(std::make_unique<grpc::GenericStub>(channels.back()));
  }
  for (const auto& channel : channels)
    if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds{60}))
      fail("no connection to the server in 60 s");
  if (options.role == "load") loop.load.start();
  else tell_connected(channels.size());
  for (std::size_t c = 0; c < channels.size() && (options.role == "load" || options.used); ++c)
    for (std::size_t i = 0; i < options.in_flight; ++i)
      if (options.style == "generic") new GenericClientCall{loop, *generic_stubs[c]};
      else new Call{loop, *stubs[c]};
  run(loop.queue);
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const Options options{argc, argv};
  options.role == "serve" ? serve(options) : load(options);
}
