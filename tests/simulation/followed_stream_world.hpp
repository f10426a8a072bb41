// SPDX-License-Identifier: Apache-2.0
// What a followed stream follows in drawn runs: files or partitions that grow, vanish, are replaced and drop records,
// and that each process sees late, each source at another time.
#pragma once

#include "simulation/followed_stream_home.hpp"
#include "support/map_objects.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/data/followed_files.hpp>
#include <distrib/data/stream_place.hpp>
#include <distrib/kafka/error.hpp>
#include <distrib/kafka/topic_place.hpp>
#include <distrib/kafka/topic_reader.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/record/object_store.hpp>
#include <distrib/record/record.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/stream_log/error.hpp>
#include <distrib/stream_log/stream_log.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace simulation::followed {

/// A source at a time.
struct SourceState {
  bool is_there = false;
  std::uint64_t low = 0;  ///< The records before this one were dropped.
  std::uint64_t records = 0;  ///< Number of the first record that is not there yet.
  std::uint64_t version = 0;  ///< Another one: it was replaced.
};

/// The sources, and what they were at each time.
class World {
 public:
  /// Draws sources with `records` records, which grow until `dry`; and a last one with `last` records, which is there at
  /// that time, is never spoilt, and so is enough for the job.
  World(distrib::sim::Dice& dice, bool has_partitions, std::uint64_t sources, std::uint64_t records, std::uint64_t last,
        std::uint64_t dry)
      : has_partitions_{has_partitions} {
    std::uint64_t left = records;
    for (std::uint64_t i = 0; i < sources; ++i) {
      Source& source = sources_.emplace_back();
      const std::uint64_t share = std::max<std::uint64_t>(1, 2 * left / (sources - i));
      const std::uint64_t n = i + 1 == sources ? left : std::min(left, dice.between(0, share));
      left -= n;
      if (n == 0) continue;
      std::set<std::uint64_t> ends{n};
      const std::uint64_t parts = has_partitions ? dice.between(0, 8) : dice.pick<std::uint64_t>({0, 0, 2, 5});
      for (std::uint64_t part = 0; part < parts; ++part) ends.insert(dice.between(1, n));
      std::multiset<std::uint64_t> times;
      for (std::size_t end = 0; end < ends.size(); ++end) times.insert(dice.between(0, dry));
      auto time = times.begin();
      for (const std::uint64_t end : ends) source.plan.emplace_back(*time++, end);
    }
    sources_.emplace_back().plan.emplace_back(dry, last);
  }

  [[nodiscard]] auto has_partitions() const noexcept -> bool { return has_partitions_; }
  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return sources_.size(); }
  [[nodiscard]] auto name_of(std::uint64_t source) const -> std::string {
    return (has_partitions_ ? "topic/" : "events-") + std::to_string(source);
  }
  [[nodiscard]] static auto record(const std::string& name, std::uint64_t version, std::uint64_t number)
      -> std::string {
    return name + " " + std::to_string(version) + " " + std::to_string(number);
  }
  /// The offset of a record in its partition: there are gaps.
  [[nodiscard]] static auto offset_of(std::uint64_t source, std::uint64_t number) -> std::uint64_t {
    return 3 * number + distrib::detail::mix_bits(source * 1000 + number) % 3;
  }
  [[nodiscard]] static auto offset_behind(std::uint64_t source, std::uint64_t records) -> std::uint64_t {
    return records == 0 ? 0 : offset_of(source, records - 1) + 1;
  }
  /// The bytes of a file.
  [[nodiscard]] auto bytes_of(std::uint64_t source, const SourceState& state) -> const std::vector<std::byte>& {
    std::vector<std::byte>& bytes = files_[{source, state.version, state.records}];
    if (!bytes.empty()) return bytes;
    for (std::uint64_t i = 0; i < state.records; ++i) {
      const std::string text = record(name_of(source), state.version, i);
      const distrib::ByteView payload = distrib::as_bytes(text);
      const auto header = distrib::encode_record_header(payload.size());
      const auto footer = distrib::encode_record_footer(payload);
      bytes.insert(bytes.end(), header.begin(), header.end());
      bytes.insert(bytes.end(), payload.begin(), payload.end());
      bytes.insert(bytes.end(), footer.begin(), footer.end());
    }
    return bytes;
  }

  /// Lets the sources grow to what they are at this time.
  void grow(std::uint64_t now) {
    for (Source& source : sources_)
      while (!source.plan.empty() && source.plan.front().first <= now) {
        SourceState state = now_of(source);
        state.is_there = true;
        state.records = source.plan.front().second;
        source.plan.pop_front();
        source.states.emplace_back(now, state);
      }
  }
  /// The source as a process sees it for which it is `at`.
  [[nodiscard]] auto seen(std::uint64_t source, std::uint64_t at) const -> SourceState {
    SourceState state;
    for (const auto& [since, what] : sources_[source].states)
      if (since <= at) state = what;
    return state;
  }

  /// Removes what the log has let go of, of one source. True if there was something.
  auto retain(const distrib::StreamLog& log, std::uint64_t number, std::uint64_t now) -> bool {
    Source& source = sources_[number];
    SourceState state = now_of(source);
    const distrib::SourceEnd* const end = log.end_of(name_of(number));
    if (!state.is_there || end == nullptr) return false;
    std::uint64_t done = end->records;
    std::uint64_t offset = end->offset;
    for (const distrib::StreamItem& item : log.kept_items()) {
      const auto* const range = std::get_if<distrib::StreamRange>(&item);
      if (range == nullptr || range->source != name_of(number)) continue;
      done = range->first;
      offset = range->first_offset;
      break;
    }
    if (has_partitions_) {
      std::uint64_t low = state.low;
      while (low < state.records && offset_of(number, low) < offset) ++low;
      if (low == state.low) return false;
      state.low = low;
    } else {
      if (done != state.records || !source.plan.empty()) return false;
      state.is_there = false;
    }
    source.states.emplace_back(now, state);
    return true;
  }

  /// Lets records vanish that a batch may still need, or replaces them. True if a source was spoilt.
  auto spoil(distrib::sim::Dice& dice, std::uint64_t now) -> bool {
    Source& source = sources_[dice.below(sources_.size() - 1)];
    SourceState state = now_of(source);
    if (!state.is_there || state.records == 0) return false;
    if (has_partitions_) {
      if (!source.plan.empty() && dice.percent(50)) {  // it grows, and drops what was not seen by any process
        const std::uint64_t end = source.plan.front().second;
        source.plan.pop_front();
        state.low = dice.between(state.records + 1, end);
        state.records = end;
      } else {
        if (state.low == state.records) return false;
        state.low = dice.between(state.low + 1, state.records);
      }
    } else if (dice.percent(50)) {
      state.is_there = false;
      source.plan.clear();
    } else {
      ++state.version;
    }
    source.states.emplace_back(now, state);
    return true;
  }

 private:
  struct Source {
    std::vector<std::pair<std::uint64_t, SourceState>> states;  // since when
    std::deque<std::pair<std::uint64_t, std::uint64_t>> plan;  // when, how many records then
  };
  [[nodiscard]] static auto now_of(const Source& source) -> SourceState {
    return source.states.empty() ? SourceState{} : source.states.back().second;
  }

  bool has_partitions_;
  std::vector<Source> sources_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::vector<std::byte>> files_;
};

/// What one process sees of the world, and what it does while it looks.
struct View {
  World* world = nullptr;
  std::vector<std::uint64_t> late;  ///< By how much it sees each source late.
  std::function<std::uint64_t()> now;
  std::function<bool()> ask;  ///< Others act; false: there is no answer.

  [[nodiscard]] auto of(std::uint64_t source) const -> SourceState {
    const std::uint64_t time = now();
    return time < late[source] ? SourceState{} : world->seen(source, time - late[source]);
  }
  [[nodiscard]] auto number_of(const std::string& name) const -> std::uint64_t {
    return std::stoull(name.substr(world->name_of(0).size() - 1));
  }
};

/// The files as objects of a store.
class ViewedFiles : public support::MapClient {
 public:
  explicit ViewedFiles(std::shared_ptr<View> view)
      : MapClient{std::make_shared<support::MapObjects>()}, view_{std::move(view)} {}

  auto info(const std::string& key, distrib::Error& error) -> distrib::ObjectInfo {
    const std::uint64_t source = view_->number_of(key.substr(3));
    if (!ask(error)) return {};
    const SourceState state = view_->of(source);
    if (!state.is_there) error = {std::make_error_code(std::errc::no_such_file_or_directory), key};
    return error ? distrib::ObjectInfo{} : info_of(source, state);
  }
  void get_range(const std::string& key, std::uint64_t first, std::span<std::byte> to, const std::string& version,
                 distrib::Error& error) {
    const std::uint64_t source = view_->number_of(key.substr(3));
    if (!ask(error)) return;
    const SourceState state = view_->of(source);
    if (!state.is_there) error = {std::make_error_code(std::errc::no_such_file_or_directory), key};
    else if (info_of(source, state).version != version) error = {support::MapObjects::mismatch(), key};
    if (error) return;
    const std::vector<std::byte>& bytes = view_->world->bytes_of(source, state);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(first), to.size(), to.begin());
  }
  auto list(const std::string&, distrib::Error& error) -> std::vector<distrib::ObjectInfo> {
    std::vector<distrib::ObjectInfo> all;
    if (!ask(error)) return all;
    for (std::uint64_t source = 0; source < view_->world->size(); ++source)
      if (const SourceState state = view_->of(source); state.is_there) all.push_back(info_of(source, state));
    return all;
  }

  /// Opens the only directory, "view://files".
  static auto open(std::shared_ptr<View> view) -> distrib::OpenObjectStore {
    return [view = std::move(view)](const std::string& url, distrib::Error& error) {
      error = {};
      return distrib::ObjectDirectory{distrib::AnyObjectStore{ViewedFiles{view}}, "in", url};
    };
  }

 private:
  auto ask(distrib::Error& error) -> bool {
    error = {};
    if (!view_->ask()) error = {support::MapObjects::away(), "lost"};
    return !error;
  }
  [[nodiscard]] auto info_of(std::uint64_t source, const SourceState& state) const -> distrib::ObjectInfo {
    return {.key = "in/" + view_->world->name_of(source),
            .bytes = view_->world->bytes_of(source, state).size(),
            .version = std::to_string(state.version) + "-" + std::to_string(state.records)};
  }

  std::shared_ptr<View> view_;
};

/// The partitions of a topic.
class ViewedPartitions {
 public:
  ViewedPartitions(std::shared_ptr<View> view, Mistake mistake) : view_{std::move(view)}, mistake_{mistake} {}

  [[nodiscard]] auto partitions(distrib::Error& error) const -> std::uint32_t {
    if (!ask(error)) return 0;
    std::uint64_t count = 0;
    for (std::uint64_t source = 0; source < view_->world->size(); ++source)
      if (view_->of(source).is_there) count = source + 1;
    return static_cast<std::uint32_t>(count);
  }
  [[nodiscard]] auto first_offset(std::uint32_t partition, distrib::Error& error) const -> std::uint64_t {
    return ask(error) ? World::offset_behind(partition, view_->of(partition).low) : 0;
  }
  [[nodiscard]] auto read(std::uint32_t partition, std::uint64_t from, std::size_t most, distrib::Error& error) const
      -> distrib::detail::TopicRead {
    distrib::detail::TopicRead found{{}, from, false};
    if (!ask(error)) return found;
    const SourceState state = view_->of(partition);
    const std::uint64_t first = World::offset_behind(partition, state.low);
    const std::uint64_t behind = World::offset_behind(partition, state.records);
    if (mistake_ == Mistake::expired_is_left_out) from = std::max(from, first);
    if (from < first || from > behind) error = {distrib::kafka_errc::no_such_offset, ""};
    if (error) return found;
    for (std::uint64_t number = state.low; number < state.records; ++number) {
      const std::uint64_t offset = World::offset_of(partition, number);
      if (offset < from) continue;
      if (found.messages.size() == most) return found;
      const std::string text = World::record(view_->world->name_of(partition), state.version, number);
      const distrib::ByteView bytes = distrib::as_bytes(text);
      found.messages.push_back({offset, std::vector<std::byte>{bytes.begin(), bytes.end()}});
      found.next = offset + 1;
    }
    found.next = std::max(found.next, behind);
    found.is_end = true;
    return found;
  }

 private:
  auto ask(distrib::Error& error) const -> bool {
    error = {};
    if (!view_->ask()) error = {support::MapObjects::away(), "lost"};
    return !error;
  }

  std::shared_ptr<View> view_;
  Mistake mistake_;
};
static_assert(distrib::detail::TopicReader<ViewedPartitions>);

/// Makes the place that a process follows.
inline auto viewed_place(const std::shared_ptr<View>& view, Mistake mistake) -> std::unique_ptr<distrib::StreamPlace> {
  if (view->world->has_partitions())
    return std::make_unique<distrib::detail::TopicPlace<ViewedPartitions>>("topic", ViewedPartitions{view, mistake}, 5);
  distrib::FollowedFilesOptions options;
  options.directory = "view://files";
  options.open_store = ViewedFiles::open(view);
  return std::make_unique<distrib::detail::FilePlace>(options);
}

/// Records that are made of what a process sees, without a look at the log.
class UncomparedRecords final : public distrib::StreamRecords {
 public:
  UncomparedRecords(std::string name, std::uint64_t version, std::uint64_t records)
      : name_{std::move(name)}, version_{version}, records_{records} {}
  [[nodiscard]] auto at(std::uint64_t record, distrib::Error& error) const -> distrib::ByteView override {
    error = {};
    text_ = record < records_ ? World::record(name_, version_, record) : std::string{};
    return distrib::as_bytes(text_);
  }
  [[nodiscard]] auto where(std::uint64_t record) const -> std::string override { return std::to_string(record); }

 private:
  std::string name_;
  std::uint64_t version_;
  std::uint64_t records_;
  mutable std::string text_;
};

/// Records whose numbers are counted from a place.
class ShiftedRecords final : public distrib::StreamRecords {
 public:
  ShiftedRecords(std::shared_ptr<const distrib::StreamRecords> records, std::uint64_t by)
      : records_{std::move(records)}, by_{by} {}
  [[nodiscard]] auto at(std::uint64_t record, distrib::Error& error) const -> distrib::ByteView override {
    return records_->at(record - by_, error);
  }
  [[nodiscard]] auto where(std::uint64_t record) const -> std::string override { return records_->where(record); }

 private:
  std::shared_ptr<const distrib::StreamRecords> records_;
  std::uint64_t by_;
};

/// A place with a mistake of its own.
class MistakenPlace final : public distrib::StreamPlace {
 public:
  MistakenPlace(std::shared_ptr<View> view, Mistake mistake)
      : view_{std::move(view)}, mistake_{mistake}, place_{viewed_place(view_, mistake)} {}

  [[nodiscard]] auto name() const -> std::string override { return place_->name(); }
  [[nodiscard]] auto kind() const -> std::string override { return place_->kind(); }
  void check(distrib::Error& error) override { place_->check(error); }
  [[nodiscard]] auto look(distrib::StreamLog& next, std::uint64_t batch, distrib::Error& error)
      -> std::vector<distrib::StreamProposal> override {
    const distrib::StreamLog log = next;
    std::vector<distrib::StreamProposal> found = place_->look(next, batch, error);
    if (mistake_ != Mistake::tail_of_another || error.code != distrib::stream_errc::source_replaced) return found;
    error = {};
    return tails(log);
  }
  [[nodiscard]] auto hold(const distrib::StreamRange& range, std::uint64_t first, distrib::Error& error)
      -> std::shared_ptr<const distrib::StreamRecords> override {
    std::shared_ptr<const distrib::StreamRecords> records = place_->hold(range, first, error);
    if (mistake_ == Mistake::grown_tail && records && !view_->world->has_partitions())
      return std::make_shared<ShiftedRecords>(std::move(records), range.first);
    const bool is_gone =
        error.code == distrib::stream_errc::source_gone || error.code == distrib::stream_errc::records_expired;
    const bool is_replaced = error.code == distrib::stream_errc::source_replaced;
    if (!(mistake_ == Mistake::gone_is_left_out && is_gone) && !(mistake_ == Mistake::sums_not_compared && is_replaced))
      return records;
    error = {};
    const SourceState state = view_->of(view_->number_of(range.source));
    return std::make_shared<UncomparedRecords>(range.source, state.version,
                                               is_replaced && state.is_there ? state.records : 0);
  }
  [[nodiscard]] auto sources(distrib::Error& error) -> std::optional<std::vector<std::string>> override {
    return place_->sources(error);
  }

 private:
  // Proposes what files have behind the end that the log has, whatever is before it.
  auto tails(const distrib::StreamLog& log) -> std::vector<distrib::StreamProposal> {
    std::vector<distrib::StreamProposal> found;
    distrib::Error error;
    const std::unique_ptr<distrib::StreamPlace> fresh = viewed_place(view_, mistake_);
    fresh->check(error);
    distrib::StreamLog none{log.batch_size(), {0}};
    for (distrib::StreamProposal& proposal : fresh->look(none, UINT64_MAX / 4 / log.batch_size(), error)) {
      auto& range = std::get<distrib::ProposedRange>(proposal);
      const distrib::SourceEnd* const end = log.end_of(range.range.source);
      if (end == nullptr || end->records >= range.range.end) continue;
      range.range.first = end->records;
      range.range.before = end->sum;
      range.continues = true;
      found.push_back(proposal);
    }
    return found;
  }

  std::shared_ptr<View> view_;
  Mistake mistake_;
  std::unique_ptr<distrib::StreamPlace> place_;
};

}  // namespace simulation::followed
