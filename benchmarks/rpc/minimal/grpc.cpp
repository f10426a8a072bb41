// SPDX-License-Identifier: Apache-2.0
// An echo server with gRPC's callback API: only its compile time and binary size are measured, together with the
// generated files.
#include "blob.grpc.pb.h"

#include <grpcpp/grpcpp.h>

namespace {

using distrib::benchmark::Bytes;

class EchoServer final : public distrib::benchmark::Blob::CallbackService {
  auto Echo(grpc::CallbackServerContext* context, const Bytes* request, Bytes* reply)
      -> grpc::ServerUnaryReactor* override {
    *reply = *request;
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

auto main() -> int {
  EchoServer service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:7000", grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  builder.BuildAndStart()->Wait();
}
