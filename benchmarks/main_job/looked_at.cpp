// SPDX-License-Identifier: Apache-2.0
// looked_at RECORDS STEPS PAUSE and the flags of a cluster: the main job with plain gradient descent and without
// checkpoints; the chief prints what benchmarks/onlookers.py reads, the seconds of its steps. A task `onlooker` looks at
// all values again and again, with this pause in ms, measures nothing, and prints how often it has looked.
#include <fashion_mnist/mlp.hpp>

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/worker/look_client.hpp>
#include <distrib/train.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

class Looks final : public distrib::LookOwner {
 public:
  Looks(asio::io_context& context, const distrib::Job& job, std::vector<distrib::Address> servers,
        std::chrono::milliseconds pause)
      : context_{context},
        timer_{context},
        pause_{pause},
        client_{std::make_shared<distrib::LookClient>(context.get_executor(), job, std::move(servers),
                                                      std::vector<distrib::WantedRows>{}, distrib::LookClientOptions{},
                                                      *this)} {
    client_->start();
    client_->look();
  }

  void looked(distrib::LookedAt values) override {
    ++looks_;
    if (values.is_last) return ended(0, {});
    again();
  }
  void cannot_keep_up(distrib::Step) override { again(); }
  void troubled(const distrib::Error&) override {}
  void ended(int, const distrib::Error&) override {
    client_->close();
    context_.stop();
  }
  [[nodiscard]] auto looks() const noexcept -> std::uint64_t { return looks_; }

 private:
  void again() {
    if (pause_.count() == 0) return client_->look();
    client_->look_at_end();
    timer_.expires_after(pause_);
    timer_.async_wait([this](const std::error_code& ec) {
      if (!ec) client_->look();
    });
  }

  asio::io_context& context_;
  asio::steady_timer timer_;
  std::chrono::milliseconds pause_;
  std::uint64_t looks_ = 0;
  std::shared_ptr<distrib::LookClient> client_;
};

/// When the steps of the chief begin and end.
struct Timed {
  std::chrono::steady_clock::time_point* begun;
  std::chrono::steady_clock::time_point* ended;
  void on_step(const distrib::StepDone& event) const {
    if (event.step == 100) *begun = std::chrono::steady_clock::now();
    *ended = std::chrono::steady_clock::now();
  }
};

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> rest;
  const auto flags = distrib::ClusterFlags::parse_known(argc, argv, rest);
  if (rest.size() != 3) {
    std::fprintf(stderr, "usage: %s RECORDS STEPS PAUSE --job_name=...\n", argv[0]);
    return 64;
  }
  const auto steps = static_cast<distrib::Step>(std::stoull(rest[1]));
  distrib::IoPool pool{1};
  std::chrono::steady_clock::time_point begun, ended;
  const auto builder =
      distrib::train(Mlp{})
          .with_data(distrib::tfrecords(rest[0] + "/train-*").schema(image_feature, label_feature).shuffle(1).batch(64))
          .with_updater(distrib::Sgd{.learning_rate = 0.1F})
          .with_hooks(distrib::StopAtStep{steps}, Timed{&begun, &ended});
  if (flags.job_name == "onlooker") {
    const distrib::TrainingPlan plan = builder.plan();
    const auto model = plan.model().open();
    const auto planned = plan.cluster_job(*model, static_cast<std::uint32_t>(flags.ps_hosts.size()),
                                          static_cast<std::uint32_t>(distrib::rank_count(flags.cluster())),
                                          plan.options().cluster.replay_budget_bytes);
    std::vector<distrib::Address> servers;
    for (const std::string& host : flags.ps_hosts) servers.push_back(distrib::Address::parse(host));
    asio::io_context context{1};
    const Looks looks{context, planned.job, std::move(servers), std::chrono::milliseconds{std::stoi(rest[2])}};
    context.run();
    std::printf("{\"looks\": %llu}\n", static_cast<unsigned long long>(looks.looks()));
    return 0;
  }
  auto trainer = builder.build(pool, flags);
  const int code = trainer.run();
  if (flags.is_chief()) std::printf("{\"seconds\": %.6f}\n", std::chrono::duration<double>{ended - begun}.count());
  return code;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
