// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/cluster/environment.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/remote/http_client.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/hooks/background_writes.hpp>
#include <distrib/train/hooks/train_job_progress.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Where the tasks of a TrainJob report how far they are: the variables that Kubeflow Trainer sets in their pods if its
/// feature TrainJobStatus is on. A value.
struct TrainJobServer {
  std::string url = {};  ///< KUBEFLOW_TRAINER_SERVER_URL. Empty: this is no pod of such a TrainJob.
  std::string authority = {};  ///< KUBEFLOW_TRAINER_SERVER_CA_CERT: the file of the authority of the server.
  /// KUBEFLOW_TRAINER_SERVER_TOKEN: the file of the token, which is read for each report, because it is renewed.
  std::string token_file = {};

  [[nodiscard]] static auto of(const Environment& environment) -> TrainJobServer {
    return {std::string{environment.first_of({"KUBEFLOW_TRAINER_SERVER_URL"})},
            std::string{environment.first_of({"KUBEFLOW_TRAINER_SERVER_CA_CERT"})},
            std::string{environment.first_of({"KUBEFLOW_TRAINER_SERVER_TOKEN"})}};
  }
};

/// Reports to Kubeflow Trainer how far the job is, so that `kubectl get trainjob -o yaml` shows it: percent, seconds left,
/// loss, examples per second, and the newest evaluation. A hook of the chief; does nothing where there is no server.
///
/// Reports are sent at the start, then every so many seconds, after each evaluation, and at the end, on a thread of
/// their own. Errors: a server that does not answer, or refuses, is reported to all hooks once; the training goes on. At
/// the end the hook waits for its last report, up to 5 s.
class ReportTrainJob {
 public:
  /// `every`: at least 5 s, which the server asks for.
  explicit ReportTrainJob(std::chrono::seconds every = std::chrono::seconds{30},
                          TrainJobServer server = TrainJobServer::of(Environment::of_process()))
      : every_{std::max(every, std::chrono::seconds{5})}, server_{std::move(server)} {}

  /// The trainer calls this function and those below.
  void on_start(const JobStart& event) {
    if (server_.url.empty()) return;
    writes_ = std::make_shared<BackgroundWrites>("the TrainJob's status", post_to(server_));
    progress_.started(event, Clock::now());
    send();
  }
  void on_step(const StepDone& event) {
    if (!writes_) return;
    progress_.stepped(event);
    if (Clock::now() - sent_ >= every_) send();
  }
  void on_evaluated(const Evaluated& event) {
    if (!writes_) return;
    progress_.evaluated(event);
    send();
  }
  void on_end(const JobEnd& event) {
    if (!writes_) return;
    progress_.ended(event.result);
    send();
    writes_->finish(std::chrono::seconds{5});
  }

  /// Returns an event if the status could not be sent.
  [[nodiscard]] auto report() -> std::optional<Event> { return writes_ ? writes_->report() : std::nullopt; }

 private:
  using Clock = std::chrono::steady_clock;

  void send() {
    sent_ = Clock::now();
    const std::string json = progress_.json(sent_, std::chrono::system_clock::now());
    const ByteView bytes = as_bytes(json);
    writes_->put("status", {bytes.begin(), bytes.end()});
  }

  [[nodiscard]] static auto post_to(const TrainJobServer& server) -> BackgroundWrites::Write {
    constexpr std::chrono::seconds patience{5};
    auto client = std::make_shared<HttpClient>(HttpOptions{
        .connect_timeout = patience, .idle_timeout = patience, .timeout = patience, .authority = server.authority});
    return [server, client](const std::string&, ByteView content, Error& error) {
      HttpRequest request{.method = "POST", .body = content, .body_type = "application/json"};
      std::error_code ec;
      request.url = HttpUrl::parse(server.url, ec);
      if (ec) error = {ec, "KUBEFLOW_TRAINER_SERVER_URL"};
      else if (!request.url.tls && request.url.host != "127.0.0.1")
        error = {http_errc::no_tls, "KUBEFLOW_TRAINER_SERVER_URL: a token is sent to https:// only"};
      if (error) return;
      request.headers.emplace_back("Authorization", "Bearer " + token_of(server.token_file, error));
      if (error) return;
      const HttpAnswer answer = client->send(request, {}, error);
      if (error || answer.good()) return;
      // A server that is overloaded or restarted says so by these; what it refuses, it refuses again.
      const bool may_pass = answer.status == 429 || answer.status >= 500;
      error = {may_pass ? http_errc::unreachable : http_errc::bad_status,
               request.where() + " (status " + std::to_string(answer.status) + ")"};
    };
  }

  [[nodiscard]] static auto token_of(const std::string& file, Error& error) -> std::string {
    std::ifstream in{file};
    std::string token;
    if (!(in >> token)) error = {std::make_error_code(std::errc::no_such_file_or_directory), file};
    return token;
  }

  std::chrono::seconds every_;
  TrainJobServer server_;
  TrainJobProgress progress_;
  Clock::time_point sent_{};
  std::shared_ptr<BackgroundWrites> writes_;  // null: there is no server, or the job has not started
};

}  // namespace v0
}  // namespace distrib
