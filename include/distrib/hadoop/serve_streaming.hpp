// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/hadoop/error.hpp>
#include <distrib/hadoop/raw_bytes.hpp>
#include <distrib/hadoop/task_context.hpp>
#include <distrib/hadoop/task_roles.hpp>
#include <distrib/hadoop/writable.hpp>
#include <distrib/net/instant.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// How Streaming encodes a key or a value: `RawBytes`, `TypedBytes`. Each object reads one key or value: if
/// `read(reader, most)` fails with `hadoop_errc::truncated`, it is called again when more bytes have arrived.
template <class C>
concept StreamingCodec = std::default_initializable<C> && std::copyable<C> &&
                         requires(C& codec, WritableReader& reader, std::size_t most, Bytes& to, ByteView bytes) {
                           { codec.read(reader, most) } -> std::same_as<ByteView>;
                           C::append(to, bytes);
                         };

/// Standard input, output and error of a task. `read_some` waits for at least one byte and returns 0 at the end;
/// `write` writes all bytes; `tell` writes a line for Hadoop.
template <class L>
concept StreamingLink = requires(L& link, std::span<std::byte> space, ByteView bytes, std::error_code& ec) {
  { link.read_some(space, ec) } -> std::convertible_to<std::size_t>;
  link.write(bytes, ec);
  link.tell(std::string_view{});
};

/// The roles that a task of Streaming may have: a Mapper, a Reducer, or both. For all other roles Streaming uses
/// commands and Java classes.
template <class... Roles>
concept StreamingRoles =
    sizeof...(Roles) != 0 && ((Mapper<Roles> || Reducer<Roles>) && ...) && detail::once_each<Roles...>;

namespace detail {

/// Reads pairs from the link, and writes pairs and lines to it.
template <StreamingCodec Codec, StreamingLink Link> class StreamingTalk {
 public:
  StreamingTalk(Link& link, std::size_t most_bytes) : link_{link}, most_bytes_{most_bytes} {}

  /// Returns the next pair, valid until the next call; nothing at the end. Throws `std::system_error`.
  auto next() -> std::optional<KeyValue> {
    while (true) {
      WritableReader reader{ByteView{buffer_}.first(filled_).subspan(used_)};
      const ByteView key = key_.read(reader, most_bytes_);
      const ByteView value = value_.read(reader, most_bytes_);
      if (!reader.error()) {
        key_ = value_ = Codec{};
        used_ += reader.used();
        ++pairs_;
        return KeyValue{key, value};
      }
      const std::string place = "pair " + std::to_string(pairs_) + " of the input";
      if (reader.error() != hadoop_errc::truncated) throw_error(reader.error(), place);
      if (!read_until(used_ + reader.wanted())) {
        if (used_ == filled_) return std::nullopt;
        throw_error(hadoop_errc::truncated, place);
      }
    }
  }

  void flush() {
    if (outbox_.empty()) return;
    std::error_code ec;
    link_.write(outbox_, ec);
    outbox_.clear();
    if (ec) throw_error(ec, "the output");
  }

  auto outlets() -> TaskOutlets {
    return {
        [this](ByteView key, ByteView value) {
          Codec::append(outbox_, key);
          Codec::append(outbox_, value);
          constexpr std::size_t enough = 64 << 10;
          if (outbox_.size() >= enough) flush();
        },
        [this](std::string_view line) { link_.tell("reporter:status:" + one_line(line)); },
        [this](float done) { link_.tell("reporter:status:" + std::to_string(static_cast<int>(100 * done)) + " %"); },
        [this](std::uint32_t, std::string_view group, std::string_view name) {
          counters_.push_back("reporter:counter:" + no_comma(group) + "," + no_comma(name) + ",");
        },
        [this](std::uint32_t number, std::int64_t amount) { link_.tell(counters_[number] + std::to_string(amount)); }};
  }

 private:
  /// Reads until the buffer has `size` bytes. Returns false if the input ends before.
  auto read_until(std::size_t size) -> bool {
    std::memmove(buffer_.data(), buffer_.data() + used_, filled_ - used_);
    size -= used_;
    filled_ -= std::exchange(used_, 0);
    while (filled_ < size) {
      constexpr std::size_t piece = 64 << 10;
      if (buffer_.size() - filled_ < piece) buffer_.resize(std::max(2 * buffer_.size(), filled_ + piece));
      std::error_code ec;
      const std::size_t count = link_.read_some(std::span{buffer_}.subspan(filled_), ec);
      if (ec) throw_error(ec, "the input");
      if (count == 0) return false;
      filled_ += count;
    }
    return true;
  }

  static auto one_line(std::string_view text) -> std::string {
    std::string line{text};
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line;
  }
  /// Replaces commas, because they separate the parts of the line.
  static auto no_comma(std::string_view text) -> std::string {
    std::string word = one_line(text);
    std::replace(word.begin(), word.end(), ',', ';');
    return word;
  }

  Link& link_;
  std::size_t most_bytes_;
  Codec key_{};  // what they know of a pair that has not arrived whole
  Codec value_{};
  Bytes buffer_ = Bytes(1);  // never empty, so that data() is an address
  std::size_t used_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t pairs_ = 0;
  Bytes outbox_;
  std::vector<std::string> counters_;
};

template <class Talk, class Tick, class M> void stream_map(Talk& talk, TaskContext& context, Tick& tick, M& mapper) {
  begin_role(mapper, context);
  while (const std::optional<KeyValue> pair = talk.next()) {
    mapper.map(pair->key, pair->value, context);
    tick();
  }
  end_role(mapper, context);
}

/// The pairs arrive one by one, sorted by key.
template <class Talk, class Tick, class R>
void stream_reduce(Talk& talk, TaskContext& context, Tick& tick, R& reducer) {
  begin_role(reducer, context);
  std::optional<KeyValue> pair = talk.next();
  while (pair) {
    const Bytes key{pair->key.begin(), pair->key.end()};
    bool is_first = true;
    Values values{[&]() -> std::optional<ByteView> {
      if (std::exchange(is_first, false)) return pair->value;
      pair = talk.next();
      tick();
      if (!pair || !std::equal(key.begin(), key.end(), pair->key.begin(), pair->key.end())) return std::nullopt;
      return pair->value;
    }};
    reducer.reduce(ByteView{key}, values, context);
    while (values.next()) {
    }
  }
  end_role(reducer, context);
}

}  // namespace detail

/// Performs one task of a Streaming job over `link`: as `run_streaming`, but with a given link. With two roles,
/// `mapreduce.task.ismap` of `conf` says whether the task is a map (which it is if that is not set). `now` returns the
/// time; counters are reported about once a second. No key and no value may be longer than `most_bytes`.
///
/// Errors: throws what the roles throw, and `std::system_error` with the number of the pair.
template <StreamingCodec Codec = RawBytes, StreamingLink Link, class... Roles>
  requires StreamingRoles<Roles...>
void serve_streaming(Link& link, JobConf conf, const std::function<Instant()>& now, std::size_t most_bytes,
                     Roles&... roles) {
  detail::StreamingTalk<Codec, Link> talk{link, most_bytes};
  TaskContext context{std::move(conf), talk.outlets()};
  detail::Nobody nobody;
  auto& mapper = detail::player<detail::IsMapper>(nobody, roles...);
  auto& reducer = detail::player<detail::IsReducer>(nobody, roles...);
  constexpr bool has_mapper = detail::is_played<decltype(mapper)>;
  constexpr bool has_reducer = detail::is_played<decltype(reducer)>;
  Instant told = now();
  std::size_t pairs = 0;
  const auto tick = [&] {
    if (++pairs % 16 != 0 || now() - told < std::chrono::seconds{1}) return;
    told = now();
    context.tell_counts();
  };
  const bool is_map = has_mapper && (!has_reducer || context.conf().flag("mapreduce.task.ismap", true));
  if constexpr (has_mapper)
    if (is_map) detail::stream_map(talk, context, tick, mapper);
  if constexpr (has_reducer)
    if (!is_map) detail::stream_reduce(talk, context, tick, reducer);
  context.tell_counts();
  talk.flush();
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
