// SPDX-License-Identifier: Apache-2.0
// Answers probabilities of clicks over HTTP while the click job trains and exports. `click_serve LOG HOST:PORT`, where
// LOG is a directory or a URL:
//   POST /predict       lines of Criteo's text; answers {"position":..,"step":..,"probabilities":[..]}
//   GET  /status.json   the position that is served, the newest one, digests, what happened
//   GET  /metrics       the same for Prometheus
//   GET  /ready         200 as soon as there is a position, 503 before
//   POST /hold/N        stays at position N, or goes back to it; POST /release follows again
#include "criteo.hpp"
#include "wide_deep.hpp"

#include <distrib/core/json_text.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/signals.hpp>
#ifdef DISTRIB_EXAMPLE_HTTP
#include <distrib/remote/s3/s3_stores.hpp>
#endif
#include <distrib/serve.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

// Returns the number at the beginning of a text, behind spaces.
auto number_in(std::string_view text) -> std::optional<std::uint64_t> {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? std::optional{number} : std::nullopt;
}

// Returns the probability of a click for each line.
auto predict(const distrib::ModelView& view, std::string_view lines) -> std::vector<float> {
  static const auto schema = distrib::schema<ClickExample>(label_feature, numbers_feature, categories_feature);
  distrib::ExampleWriter writer{schema};
  std::vector<std::vector<std::byte>> records;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.empty()) continue;
    const auto bytes = writer.write(parse_criteo(line));
    records.emplace_back(bytes.begin(), bytes.end());
  }
  const std::vector<distrib::ByteView> views{records.begin(), records.end()};
  distrib::Batch<ClickExample> batch;
  distrib::Error error;
  distrib::parse_examples(schema, std::span{views}, batch, error);
  distrib::throw_if(error);

  const WideDeep model;
  distrib::Values<WideDeep::Variables> values{model.variables()};
  const auto infos = model.variables().infos();
  for (std::size_t i = 0; i < infos.size(); ++i) values.lend(i, view.variable(infos[i].name).values.data());
  distrib::Lookups<WideDeep::Variables> lookups;
  model.lookups(batch, lookups);
  std::map<std::uint64_t, std::int64_t> row_of;  // both tables are asked for the same keys
  std::vector<std::uint64_t> keys;
  std::vector<std::int64_t> index;
  for (const std::uint64_t key : distrib::get<"deep/embeddings">(lookups)) {
    const auto [at, is_new] = row_of.emplace(key, static_cast<std::int64_t>(keys.size()));
    if (is_new) keys.push_back(key);
    index.push_back(at->second);
  }
  const std::pair<const char*, std::size_t> tables[] = {{"wide/weights", 1}, {"deep/embeddings", WideDeep::dim}};
  for (std::size_t table = 0; table < 2; ++table) {
    const auto [name, dim] = tables[table];
    values.rows(table).resize(keys.size(), dim);
    view.rows(name, keys, {values.rows(table).data(), keys.size() * dim});
    values.set_index(table, index);
  }
  return model.predict(batch, values);
}

auto status_json(const distrib::ReplicaStatus& s) -> std::string {
  std::string tables;
  for (const distrib::LogTable& table : s.tables) {
    char digest[33];
    std::snprintf(digest, sizeof digest, "%016llx%016llx", static_cast<unsigned long long>(table.digest.first),
                  static_cast<unsigned long long>(table.digest.second));
    tables += (tables.empty() ? "" : ",") + distrib::json_text(table.info.name) +
              ":{\"rows\":" + std::to_string(table.rows) + ",\"digest\":\"" + digest + "\"}";
  }
  const auto number = [](auto value) { return distrib::json_text(value); };
  return "{\"ready\":" + std::string{s.ready ? "true" : "false"} + ",\"position\":" + number(s.position) +
         ",\"newest\":" + number(s.newest) + ",\"lag\":" + number(s.newest - s.position) +
         ",\"step\":" + number(s.step) + ",\"held\":" + (s.held ? number(*s.held) : "null") +
         ",\"bases\":" + number(s.counts.bases) + ",\"positions\":" + number(s.counts.positions) +
         ",\"missing\":" + number(s.counts.missing) + ",\"damaged\":" + number(s.counts.damaged) +
         ",\"wrong_digests\":" + number(s.counts.wrong_digests) + ",\"memory_bytes\":" + number(s.memory_bytes) +
         ",\"error\":" +
         distrib::json_text(s.last_error ? s.last_error.where + ": " + s.last_error.code.message() : "") +
         ",\"tables\":{" + tables + "}}\n";
}

auto metrics(const distrib::ReplicaStatus& s) -> std::string {
  std::string text;
  const auto add = [&](const char* name, const char* type, std::uint64_t value) {
    text += std::string{"# TYPE click_serve_"} + name + " " + type + "\nclick_serve_" + name + " " +
            std::to_string(value) + "\n";
  };
  add("ready", "gauge", s.ready ? 1 : 0);
  add("position", "gauge", s.position);
  add("lag_positions", "gauge", s.newest - s.position);
  add("step", "gauge", s.step);
  add("memory_bytes", "gauge", s.memory_bytes);
  add("positions_total", "counter", s.counts.positions);
  add("missing_objects_total", "counter", s.counts.missing);
  add("damaged_objects_total", "counter", s.counts.damaged);
  add("wrong_digests_total", "counter", s.counts.wrong_digests);
  return text;
}

using Answer = std::pair<const char*, std::string>;  // status and content

auto answer(distrib::ModelReplica& replica, const std::string& what, std::string_view body) -> Answer {
  if (what == "GET /status.json") return {"200 OK", status_json(replica.status())};
  if (what == "GET /metrics") return {"200 OK", metrics(replica.status())};
  if (what == "GET /ready") return {replica.ready() ? "200 OK" : "503 Service Unavailable", ""};
  if (what == "POST /release") return replica.release(), Answer{"200 OK", ""};
  if (constexpr std::string_view hold = "POST /hold/"; what.starts_with(hold)) {
    const auto position = number_in(std::string_view{what}.substr(hold.size()));
    if (!position) return {"400 Bad Request", "not a position\n"};
    return replica.hold(*position), Answer{"200 OK", ""};
  }
  if (what != "POST /predict") return {"404 Not Found", ""};
  if (!replica.ready()) return {"503 Service Unavailable", "no position yet\n"};
  const distrib::ModelView view = replica.view();
  std::string list;
  for (const float click : predict(view, body)) list += (list.empty() ? "" : ",") + distrib::json_text(click);
  return {"200 OK", "{\"position\":" + std::to_string(view.position()) + ",\"step\":" + std::to_string(view.step()) +
                        ",\"probabilities\":[" + list + "]}\n"};
}

// One request, one answer, then the connection ends.
void serve(distrib::ModelReplica& replica, asio::ip::tcp::socket peer) try {
  constexpr std::size_t most_bytes = 1 << 20;
  const timeval patience{5, 0};
  ::setsockopt(peer.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(peer.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  std::string text;
  std::size_t head = std::string::npos;
  std::size_t length = 0;
  while (head == std::string::npos || text.size() < head + length) {
    std::array<char, 16384> some;
    const ::ssize_t got = ::recv(peer.native_handle(), some.data(), some.size(), 0);
    if (got <= 0 || text.size() > most_bytes) return;
    text.append(some.data(), static_cast<std::size_t>(got));
    if (head != std::string::npos) continue;
    head = text.find("\r\n\r\n");
    if (head == std::string::npos) continue;
    head += 4;
    std::string fields = text.substr(0, head);
    std::ranges::transform(fields, fields.begin(), [](unsigned char c) { return std::tolower(c); });
    constexpr std::string_view name = "\r\ncontent-length:";
    if (const std::size_t at = fields.find(name); at != std::string::npos)
      length = number_in(std::string_view{fields}.substr(at + name.size())).value_or(0);
    if (length > most_bytes) return;
  }
  const std::string what = text.substr(0, text.find(' ', text.find(' ') + 1));
  Answer result;
  try {
    result = answer(replica, what, std::string_view{text}.substr(head, length));
  } catch (const std::exception& error) {
    result = {"400 Bad Request", std::string{error.what()} + "\n"};
  }
  const std::string reply = std::string{"HTTP/1.1 "} + result.first +
                            "\r\nContent-Length: " + std::to_string(result.second.size()) +
                            "\r\nConnection: close\r\n\r\n" + result.second;
  for (std::size_t sent = 0; sent < reply.size();) {
    const ::ssize_t some = ::send(peer.native_handle(), reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
    if (some <= 0) return;
    sent += static_cast<std::size_t>(some);
  }
} catch (const std::exception&) {  // the connection is closed
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: click_serve EXPORT_LOG HOST:PORT\n");
    return 64;
  }
  distrib::ExportSource source{argv[1]};
#ifdef DISTRIB_EXAMPLE_HTTP
  source.open_store = distrib::s3_stores();
#endif
  distrib::ModelReplica replica{std::move(source)};
  const distrib::Address address = distrib::Address::parse(argv[2]);
  asio::io_context context{1};
  asio::ip::tcp::acceptor listener{context, {asio::ip::make_address(address.host), address.port}};
  std::printf("serving %s at %s:%u\n", argv[1], address.host.c_str(), unsigned{listener.local_endpoint().port()});
  std::fflush(stdout);

  std::atomic<bool> over = false;
  const distrib::Signals signals{context, [&] {
                                   over = true;
                                   context.stop();
                                 }};
  std::thread follower{[&] {
    for (; !over; std::this_thread::sleep_for(std::chrono::milliseconds{100})) replica.poll();
  }};
  std::vector<std::thread> threads;
  asio::io_context requests;
  auto work = asio::make_work_guard(requests);
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { requests.run(); });
  const auto accept = [&](const auto& again) -> void {
    listener.async_accept([&, again](const std::error_code& ec, asio::ip::tcp::socket peer) {
      if (ec == asio::error::operation_aborted) return;
      if (!ec) asio::post(requests, [&, peer = std::move(peer)]() mutable { serve(replica, std::move(peer)); });
      again(again);
    });
  };
  accept(accept);
  context.run();
  work.reset();
  for (std::thread& thread : threads) thread.join();
  follower.join();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
