// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/report_train_job.hpp>

#include "support/catch.hpp"
#include "support/http_server.hpp"
#include "support/temp_directory.hpp"

#include <atomic>
#include <fstream>
#include <string>
#include <vector>

using distrib::ReportTrainJob;
using distrib::TrainJobServer;
using support::HttpSaid;

namespace {

struct TrainJobRun {
  explicit TrainJobRun(support::HttpServer::Say say) : server{std::move(say)} {
    std::ofstream{folder / "token"} << "secret-of-the-pod\n";
  }
  auto hook() -> ReportTrainJob {
    return ReportTrainJob{std::chrono::seconds{30}, {server.url() + "/apis/trainjobs/a/status", "", folder / "token"}};
  }
  static void run(ReportTrainJob& hook, bool complete = true) {
    distrib::JobStart start;
    start.last_step = 4;
    hook.on_start(start);
    hook.on_step({.step = 2, .loss = 0.5F, .examples = 64});
    distrib::JobEnd end;
    end.result.steps = complete ? 4 : 2;
    end.result.complete = complete;
    hook.on_end(end);
  }

  support::TempDirectory folder;
  support::HttpServer server;
};

}  // namespace

TEST_CASE("ReportTrainJob: posts the status with the token of the pod, and the last one says 100 %", "[train]") {
  TrainJobRun job{[](const auto&) { return HttpSaid::answer(200, "{}"); }};
  ReportTrainJob hook = job.hook();
  TrainJobRun::run(hook);
  CHECK_FALSE(hook.report());
  const std::vector<support::HttpAsked> asked = job.server.asked();
  REQUIRE_FALSE(asked.empty());  // of contents that waited for each other only the newest was sent
  CHECK(asked.back().method == "POST");
  CHECK(asked.back().target == "/apis/trainjobs/a/status");
  CHECK_THAT(asked.back().headers, ContainsSubstring("Authorization: Bearer secret-of-the-pod\r\n"));
  CHECK_THAT(asked.back().headers, ContainsSubstring("Content-Type: application/json\r\n"));
  CHECK_THAT(asked.back().body, ContainsSubstring("\"progressPercentage\":100,\"estimatedRemainingSeconds\":0"));
}

TEST_CASE("ReportTrainJob: a server that refuses is reported once, and the training goes on", "[train]") {
  TrainJobRun job{[](const auto&) { return HttpSaid::answer(403, R"({"reason":"Forbidden"})"); }};
  ReportTrainJob hook = job.hook();
  TrainJobRun::run(hook);
  const auto told = hook.report();
  REQUIRE(told);
  CHECK_THAT(told->text, ContainsSubstring("not written to the TrainJob's status, the training continues: POST " +
                                           job.server.url() + "/apis/trainjobs/a/status (status 403)"));
  CHECK(told->text.find("secret") == std::string::npos);
  CHECK_FALSE(hook.report());
}

TEST_CASE("ReportTrainJob: a server that is overloaded gets the last status when it answers again", "[train]") {
  std::atomic<int> overloaded = 2;
  TrainJobRun job{[&](const auto&) { return HttpSaid::answer(overloaded-- > 0 ? 503 : 200, "{}"); }};
  ReportTrainJob hook = job.hook();
  TrainJobRun::run(hook);
  CHECK_THAT(job.server.asked().back().body, ContainsSubstring("\"progressPercentage\":100"));
  CHECK(overloaded < 0);
}

TEST_CASE("ReportTrainJob: without a server it does nothing; without a token, or without TLS, nothing is sent",
          "[train]") {
  ReportTrainJob nowhere{std::chrono::seconds{30}, TrainJobServer::of({})};
  TrainJobRun::run(nowhere);
  CHECK_FALSE(nowhere.report());

  TrainJobRun job{[](const auto&) { return HttpSaid::answer(200, "{}"); }};
  ReportTrainJob no_token{std::chrono::seconds{30}, {job.server.url() + "/status", "", job.folder / "none"}};
  TrainJobRun::run(no_token);
  const auto told = no_token.report();
  REQUIRE(told);
  CHECK_THAT(told->text, ContainsSubstring((job.folder / "none").string()));
  ReportTrainJob plain{std::chrono::seconds{30}, {"http://trainer.kubeflow:8082/status", "", job.folder / "token"}};
  TrainJobRun::run(plain);
  REQUIRE(plain.report());
  CHECK(job.server.asked().empty());
}

TEST_CASE("TrainJobServer: the variables of Kubeflow Trainer", "[train]") {
  const TrainJobServer server =
      TrainJobServer::of({{"KUBEFLOW_TRAINER_SERVER_URL", "https://trainer.kubeflow:8082/status"},
                          {"KUBEFLOW_TRAINER_SERVER_CA_CERT", "/run/ca.crt"},
                          {"KUBEFLOW_TRAINER_SERVER_TOKEN", "/run/token"}});
  CHECK(server.url == "https://trainer.kubeflow:8082/status");
  CHECK(server.authority == "/run/ca.crt");
  CHECK(server.token_file == "/run/token");
}
