// SPDX-License-Identifier: Apache-2.0
#include <distrib/message/protobuf.hpp>

#include <distrib/core/protowire.hpp>

#include <distrib/cluster.pb.h>
#include <distrib/event.pb.h>
#include <distrib/example.pb.h>

#include "support/catch.hpp"

#include <string>

using distrib::ByteView;
using distrib::message_errc;
using distrib::ProtobufCodec;

namespace {

auto worker_job() -> distrib::proto::ClusterDef {
  distrib::proto::ClusterDef cluster;
  distrib::proto::JobDef& job = *cluster.add_job();
  job.set_name("worker");
  for (int task = 0; task < 20; ++task) (*job.mutable_tasks())[task] = "host" + std::to_string(task) + ":2222";
  return cluster;
}

/// A message with a required field, as in proto2; otherwise it behaves like an empty message.
class Required final : public google::protobuf::MessageLite {
 public:
  bool set = false;

  auto GetTypeName() const -> std::string override { return "test.Required"; }
  auto New(google::protobuf::Arena*) const -> MessageLite* override { return new Required; }
  void Clear() override { set = false; }
  auto IsInitialized() const -> bool override { return set; }
  void CheckTypeAndMergeFrom(const MessageLite&) override {}
  auto ByteSizeLong() const -> size_t override { return 0; }
  auto GetCachedSize() const -> int override { return 0; }
  auto _InternalSerialize(uint8_t* to, google::protobuf::io::EpsCopyOutputStream*) const -> uint8_t* override {
    return to;
  }
  auto _InternalParse(const char* from, google::protobuf::internal::ParseContext*) -> const char* override {
    return from;
  }
};

}  // namespace

TEST_CASE("ProtobufCodec: decodes what it encoded, and reuses memory", "[message]") {
  const ProtobufCodec codec;
  std::vector<std::byte> bytes(1000);
  const std::byte* memory = bytes.data();
  codec.encode(worker_job(), bytes);
  CHECK(bytes.data() == memory);

  distrib::proto::ClusterDef cluster;
  cluster.add_job()->set_name("left over");
  codec.decode(bytes, cluster);
  REQUIRE(cluster.job_size() == 1);
  CHECK(cluster.job(0).name() == "worker");
  CHECK(cluster.job(0).tasks().at(7) == "host7:2222");

  codec.encode(distrib::proto::ClusterDef{}, bytes);
  CHECK(bytes.empty());
  codec.decode({}, cluster);
  CHECK(cluster.job_size() == 0);
}

TEST_CASE("ProtobufCodec: maps are written in the order of their keys", "[message]") {
  const ProtobufCodec codec;
  std::vector<std::byte> bytes;
  codec.encode(worker_job(), bytes);
  distrib::WireReader cluster{bytes};
  REQUIRE(cluster.next());
  distrib::WireReader job{cluster.bytes()};
  std::int64_t before = -1;
  while (job.next()) {
    if (job.tag() != distrib::wire_tag(2, distrib::WireType::bytes)) continue;
    distrib::WireReader task{job.bytes()};
    REQUIRE(task.next());
    CHECK(task.int64() == before + 1);
    before = task.int64();
  }
  CHECK(before == 19);
}

TEST_CASE("ProtobufCodec: errors name the type and leave the output empty", "[message]") {
  const ProtobufCodec codec;
  const ProtobufCodec small{.max_message_bytes = 10};
  std::vector<std::byte> bytes;
  codec.encode(worker_job(), bytes);

  std::error_code ec;
  distrib::proto::ClusterDef cluster = worker_job();
  small.decode(bytes, cluster, ec);
  CHECK(ec == message_errc::too_large);
  CHECK(cluster.job_size() == 0);

  std::vector<std::byte> out(3);
  small.encode(worker_job(), out, ec);
  CHECK(ec == message_errc::too_large);
  CHECK(out.empty());
  CHECK_THROWS_WITH(small.encode(worker_job(), out),
                    ContainsSubstring("distrib.proto.ClusterDef: the message is longer"));

  codec.decode(ByteView{bytes}.first(bytes.size() - 1), cluster, ec);
  CHECK(ec == message_errc::malformed);
  CHECK(cluster.job_size() == 0);
  CHECK_THROWS_WITH(codec.decode(ByteView{bytes}.first(1), cluster),
                    ContainsSubstring("distrib.proto.ClusterDef: the bytes are not a message"));

  codec.encode(worker_job(), out, ec);
  CHECK(!ec);

  Required required;
  codec.encode(required, out, ec);
  CHECK(ec == message_errc::incomplete);
  codec.decode({}, required, ec);
  CHECK(ec == message_errc::incomplete);
  required.set = true;
  codec.encode(required, out, ec);
  CHECK(!ec);
}

TEST_CASE("proto files: the field numbers are TensorFlow's", "[message]") {
  distrib::proto::Event event;
  event.set_wall_time(1.5);
  event.set_step(7);
  distrib::proto::Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag("loss");
  value.set_simple_value(0.25F);

  distrib::WireWriter wire;
  wire.float64(1, 1.5);
  wire.int64(2, 7);
  wire.message(5, [](distrib::WireWriter& summary) {
    summary.message(1, [](distrib::WireWriter& scalar) {
      scalar.text(1, "loss");
      scalar.float32(2, 0.25F);
    });
  });
  std::vector<std::byte> bytes;
  ProtobufCodec{}.encode(event, bytes);
  CHECK(bytes == wire.take());

  distrib::proto::ServerDef server;
  *server.mutable_cluster() = worker_job();
  server.set_job_name("worker");
  server.set_task_index(3);
  server.set_protocol("grpc");
  server.set_port(2222);
  ProtobufCodec{}.encode(worker_job(), bytes);
  wire.bytes(1, bytes);
  wire.text(2, "worker");
  wire.int64(3, 3);
  wire.text(5, "grpc");
  wire.int64(8, 2222);
  ProtobufCodec{}.encode(server, bytes);
  CHECK(bytes == wire.take());
}
