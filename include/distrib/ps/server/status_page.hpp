// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/wire/shard_status.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// The content types of the page and of its data.
inline constexpr std::string_view status_page_content_type = "text/html; charset=utf-8";
inline constexpr std::string_view status_data_content_type = "application/json";

/// Returns the page that shows a job while it runs: steps, ranks, who is waited for, shards, events. It is one HTML
/// document of less than 30 KB that loads nothing but `status.json` beside it, each second. The text is constant.
[[nodiscard]] DISTRIB_DECL auto status_page() -> std::string_view;

/// Returns the page with data in it: a file that shows the state of that moment, and loads nothing. `data`: as
/// `status_data` writes it.
[[nodiscard]] DISTRIB_DECL auto status_page_of(std::string_view data) -> std::string;

/// Something that happened in a task.
struct StatusEvent {
  std::chrono::system_clock::time_point at;
  std::string text;
};

/// A process of the job, as the one that started it knows it.
struct StatusProcess {
  std::string task;   ///< "ps0", "worker2".
  std::string state;  ///< For the user: "process 4711", "ended with code 0", "starts again".
  std::uint64_t restarts = 0;
};

/// Returns what the page shows, as JSON: `{"shards":[...],"events":[...],"processes":[...]}`, with `status_object` for
/// each shard and the times of events in seconds since 1970. Only the first shard that is open has ranks, as columns:
/// all shards of a job know the same ranks. `processes` is left out if it is empty.
[[nodiscard]] DISTRIB_DECL auto status_data(std::span<const ShardStatus> shards, std::span<const StatusEvent> events,
                                            std::span<const StatusProcess> processes = {}) -> std::string;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/status_page.ipp>
#endif
