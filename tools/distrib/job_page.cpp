// SPDX-License-Identifier: Apache-2.0
#include "job_page.hpp"

#include <distrib/core/error.hpp>
#include <distrib/ps/job/client_rules.hpp>

#include <chrono>
#include <cstddef>
#include <utility>

namespace tools {

namespace {

constexpr std::size_t most_events = 50;
constexpr std::chrono::seconds between{1}, forgotten{10};  // from look to look; after the last visitor it stops
constexpr std::chrono::milliseconds within{1'000};

}  // namespace

JobPage::JobPage(const distrib::Address& address, const distrib::ClusterSpec& cluster,
                 std::shared_ptr<const distrib::Transport> transport) {
  for (const auto& server : cluster.job_tasks("ps")) servers_.push_back(distrib::Address::parse(*server));
  how_.within = within;
  how_.tls = transport;
  how_.secret = distrib::SharedSecret::of_job();

  using Show = distrib::PageServer::Show;
  std::vector<distrib::PageServer::Served> pages;
  pages.push_back({{"/", std::string{distrib::status_page_content_type}},
                   [](const Show& show) { show(std::string{distrib::status_page()}); }});
  pages.push_back({{"/status.json", std::string{distrib::status_data_content_type}}, [this](const Show& show) {
                     std::unique_lock lock{mutex_};
                     looked_ = std::chrono::steady_clock::now();
                     wake_.notify_all();
                     const std::vector<distrib::StatusEvent> events(events_.begin(), events_.end());
                     const std::string data = distrib::status_data(shards_, events, processes_);
                     lock.unlock();
                     show(data);
                   }});
  distrib::ClientRules rules = distrib::client_rules(cluster);
  rules.needs_certificate = false;  // browsers have none
  pages_.emplace(address, std::move(pages), distrib::page_listening(transport, std::move(rules)));
  url_ = (transport ? "https://" : "http://") + distrib::Address{address.host, pages_->port()}.to_string() + "/";
  asking_ = std::thread{[this] { ask(); }};
}

JobPage::~JobPage() {
  {
    const std::lock_guard lock{mutex_};
    over_ = true;
  }
  wake_.notify_all();
  asking_.join();
}

void JobPage::tell(std::string text, std::vector<distrib::StatusProcess> processes) {
  const std::lock_guard lock{mutex_};
  if (events_.size() == most_events) events_.pop_front();
  events_.push_back({std::chrono::system_clock::now(), std::move(text)});
  processes_ = std::move(processes);
}

void JobPage::ask() {
  std::unique_lock lock{mutex_};
  const auto is_visited = [this] { return std::chrono::steady_clock::now() - looked_ < forgotten; };
  while (true) {
    if (!is_visited()) shards_.clear();
    wake_.wait(lock, [&] { return over_ || is_visited(); });
    if (over_) return;
    lock.unlock();
    std::vector<distrib::ShardStatus> all;
    for (const distrib::Address& server : servers_) {
      distrib::Error away;  // its process is shown as such
      for (distrib::ShardStatus& shard : distrib::ask_status(server, how_, away)) all.push_back(std::move(shard));
    }
    lock.lock();
    shards_ = std::move(all);
    wake_.wait_for(lock, between, [this] { return over_; });
  }
}

}  // namespace tools
