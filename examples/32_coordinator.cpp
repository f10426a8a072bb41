// SPDX-License-Identifier: Apache-2.0
// Several checkpoints are measured at once: one process schedules functions, two workers run them. The workers are
// threads here, so that the program is alone; in a cluster each is a process (33_coordinator_train).
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/save.hpp>
#include <distrib/coordinator.hpp>

#include <array>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace {

const distrib::Shape shape{2};  // slope and offset of y = slope * x + offset

struct TestData {
  std::vector<float> x, y;
};
/// Makes what stays on each worker: the test data.
struct OpenTestData {
  static constexpr std::string_view name = "open_test_data";
  auto operator()(distrib::FunctionContext&, int size) const -> TestData {
    TestData data;
    for (int i = 0; i < size; ++i) {
      data.x.push_back(static_cast<float>(i) / 16);
      data.y.push_back(2 * data.x.back() + 1);
    }
    return data;
  }
};
/// Returns the mean squared error of a checkpoint.
struct Measure {
  static constexpr std::string_view name = "measure";
  auto operator()(distrib::FunctionContext&, TestData& data, const std::string& checkpoint) const -> double {
    std::array<float, 2> line{};
    distrib::BundleReader::open(checkpoint)
        .read("line", distrib::Slice::whole(shape), std::as_writable_bytes(std::span{line}));
    double sum = 0;
    for (std::size_t i = 0; i < data.x.size(); ++i) {
      const double error = double{line[0]} * double{data.x[i]} + double{line[1]} - double{data.y[i]};
      sum += error * error / static_cast<double>(data.x.size());
    }
    return sum;
  }
};
using Functions = distrib::FunctionList<OpenTestData, Measure>;

void save(const std::string& name, const std::array<float, 2>& line) {
  const std::vector<distrib::BundlePart> parts{
      {{{"line", distrib::DType::float32, shape, distrib::Slice::whole(shape), std::as_bytes(std::span{line})}}, {}}};
  distrib::save_checkpoint("32_coordinator.out", name, parts);
}

}  // namespace

auto main() -> int try {
  save("ckpt-1", {0, 0});
  save("ckpt-2", {1, 1});
  save("ckpt-3", {2, 1});

  const distrib::ClusterSpec any_port{{"worker", {"127.0.0.1:0", "127.0.0.1:0"}}};
  distrib::FunctionWorker<Functions> first{any_port, 0}, second{any_port, 1};
  const distrib::ClusterSpec cluster{{"worker",
                                      {"127.0.0.1:" + std::to_string(first.port()),  //
                                       "127.0.0.1:" + std::to_string(second.port())}}};
  const std::jthread others[] = {std::jthread{[&] { static_cast<void>(first.run()); }},
                                 std::jthread{[&] { static_cast<void>(second.run()); }}};

  distrib::ClusterCoordinator<Functions> coordinator{cluster};
  const auto data = coordinator.create_per_worker<OpenTestData>(16);
  std::vector<distrib::RemoteValue<double>> losses;
  for (const char* name : {"ckpt-1", "ckpt-2", "ckpt-3"})
    losses.push_back(coordinator.schedule<Measure>(data, std::string{"32_coordinator.out/"} + name));
  for (const double loss : coordinator.fetch(losses)) std::printf("loss %.3f\n", loss);

  coordinator.schedule<Measure>(data, "32_coordinator.out/ckpt-4");
  std::error_code ec;
  coordinator.join(ec);  // the error of the function, with its own code
  std::printf("ckpt-4: %s\n", ec.message().c_str());
  coordinator.finish();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
