// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/hadoop/detail/combine_buffer.hpp>
#include <distrib/hadoop/error.hpp>
#include <distrib/hadoop/pipes_core.hpp>
#include <distrib/hadoop/pipes_messages.hpp>
#include <distrib/hadoop/task_context.hpp>
#include <distrib/hadoop/task_roles.hpp>
#include <distrib/net/instant.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// Carries a conversation of Pipes: a socket, two files, or memory. `read_some` waits for at least one byte and returns
/// 0 at the end; `write` writes all bytes.
template <class L>
concept PipesLink = requires(L& link, std::span<std::byte> space, ByteView bytes, std::error_code& ec) {
  { link.read_some(space, ec) } -> std::convertible_to<std::size_t>;
  link.write(bytes, ec);
};

namespace detail {

/// One conversation over a link that blocks.
template <PipesLink Link> class PipesTalk {
 public:
  PipesTalk(Link& link, PipesOptions options, const std::function<Instant()>& now)
      : link_{link}, core_{std::move(options)}, now_{now}, told_{now()} {}

  /// Returns the next message. Throws `std::system_error`.
  auto next() -> PipesEvent {
    while (true) {
      if (const std::optional<PipesEvent> event = core_.next()) return *event;
      throw_if(core_.error());
      flush();  // the other side may wait for these bytes, so send them before waiting
      constexpr std::size_t piece = 128 << 10;
      std::error_code ec;
      const std::size_t count = link_.read_some(core_.space(piece), ec);
      if (ec) throw_error(ec, "what Hadoop sends");
      core_.received(count);
      if (count == 0) core_.end();
      if (count == 0 && !core_.error()) throw_error(hadoop_errc::truncated, "what Hadoop sends");
    }
  }

  /// Returns the next message, which must be of this kind. The core has already refused any other.
  auto expect(PipesMessage kind) -> PipesEvent {
    const PipesEvent event = next();
    if (event.kind != kind) throw_error(hadoop_errc::unexpected_message, "what Hadoop sends");
    return event;
  }

  /// Sends all collected bytes.
  void flush() {
    if (core_.outbox().empty()) return;
    std::error_code ec;
    link_.write(core_.outbox(), ec);
    core_.outbox().clear();
    if (ec) throw_error(ec, "what is sent to Hadoop");
  }

  /// Called with each pair. True once a second: report the counters now. Also sends the collected bytes when there are
  /// 64 KiB or more.
  auto is_time() -> bool {
    constexpr std::size_t enough = 64 << 10;
    if (core_.outbox().size() >= enough) flush();
    if (++pairs_ % 16 != 0) return false;
    const Instant now = now_();
    if (now - told_ < std::chrono::seconds{1}) return false;
    told_ = now;
    return true;
  }

  [[nodiscard]] auto outbox() noexcept -> Bytes& { return core_.outbox(); }
  [[nodiscard]] auto conf() const noexcept -> const JobConf& { return core_.conf(); }

  /// Returns outlets that turn what a context reports into messages.
  auto outlets() -> TaskOutlets {
    return {[this](ByteView key, ByteView value) { append_output(outbox(), key, value); },
            [this](std::string_view line) { append_status(outbox(), line); },
            [this](float done) {
              append_progress(outbox(), done);
              flush();
            },
            [this](std::uint32_t number, std::string_view group, std::string_view name) {
              append_register_counter(outbox(), number, group, name);
            },
            [this](std::uint32_t number, std::int64_t amount) { append_increment_counter(outbox(), number, amount); }};
  }

 private:
  Link& link_;
  PipesCore core_;
  const std::function<Instant()>& now_;
  Instant told_;
  std::size_t pairs_ = 0;
};

inline constexpr std::string_view java_writer = "mapreduce.pipes.isjavarecordwriter";

/// Writes the output with `Writer`. Without a Writer only `write` fails, so that a map that emits nothing needs none.
template <class Writer> class WriterOutlet {
 public:
  WriterOutlet(Writer& writer, TaskContext& context) : writer_{writer}, context_{context} {}

  void open() {
    if constexpr (is_played<Writer>) writer_.open(context_);
    open_ = true;
  }
  void write([[maybe_unused]] ByteView key, [[maybe_unused]] ByteView value) {
    if constexpr (is_played<Writer>) writer_.write(key, value);
    else throw_error(hadoop_errc::no_record_writer, java_writer);
  }
  void close() {
    if constexpr (is_played<Writer>)
      if (open_) writer_.close();
  }

 private:
  Writer& writer_;
  TaskContext& context_;
  bool open_ = false;
};

template <class Link, class... Roles>
void serve_map(PipesTalk<Link>& talk, TaskContext& context, const PipesEvent& run, Roles&... roles) {
  Nobody nobody;
  auto& mapper = player<IsMapper>(nobody, roles...);
  auto& combiner = player<IsCombiner>(nobody, roles...);
  auto& partitioner = player<IsPartitioner>(nobody, roles...);
  auto& reader = player<IsReader>(nobody, roles...);
  auto& writer = player<IsWriter>(nobody, roles...);
  const Bytes split{run.first.begin(), run.first.end()};
  const std::uint32_t reduces = run.reduces;
  const bool java = run.java;

  // Pairs for a reduce go to Java. Pairs that are the output go to Java only if Java writes the output.
  WriterOutlet<std::remove_reference_t<decltype(writer)>> own{writer, context};
  TaskOutlets outlets = talk.outlets();
  if (reduces == 0) {
    if (!context.conf().flag(java_writer, false)) {
      if constexpr (is_played<decltype(writer)>) own.open();
      outlets.emit = [&own](ByteView key, ByteView value) { own.write(key, value); };
    }
  } else if constexpr (is_played<decltype(partitioner)>) {
    outlets.emit = [&talk, &partitioner, reduces](ByteView key, ByteView value) {
      const auto reduce = static_cast<std::uint64_t>(partitioner.partition(key, reduces));
      if (reduce >= reduces)
        throw_error(hadoop_errc::bad_partition, std::to_string(reduce) + " of " + std::to_string(reduces));
      append_partitioned_output(talk.outbox(), static_cast<std::uint32_t>(reduce), key, value);
    };
  }
  using Combine = std::remove_reference_t<decltype(combiner)>;
  std::optional<CombineBuffer<Combine>> combine;
  if constexpr (is_played<Combine>) {
    if (reduces != 0) {
      constexpr std::uint64_t most = 2047;  // as in Hadoop
      const std::uint64_t megabytes = context.conf().number("mapreduce.task.io.sort.mb", 100, most);
      combine.emplace(combiner, context, static_cast<std::size_t>(megabytes << 20), outlets.emit);
      outlets.emit = [&combine](ByteView key, ByteView value) { combine->add(key, value); };
    }
  }
  context.exchange_outlets(std::move(outlets));

  begin_role(mapper, context);
  if (java) {
    for (PipesEvent event = talk.next(); event.kind != PipesMessage::close; event = talk.next()) {
      if (event.kind == PipesMessage::map_item) mapper.map(event.first, event.second, context);
      if (talk.is_time()) context.tell_counts();
    }
  } else if constexpr (is_played<decltype(reader)>) {
    reader.open(split, context);
    while (const std::optional<KeyValue> pair = reader.next()) {
      mapper.map(pair->key, pair->value, context);
      if (talk.is_time()) context.progress(static_cast<float>(reader.progress()));
    }
    context.progress(1);
  } else {
    throw_error(hadoop_errc::no_record_reader, "mapreduce.pipes.isjavarecordreader");
  }
  end_role(mapper, context);
  if constexpr (is_played<Combine>)
    if (combine) combine->flush();
  own.close();
  context.exchange_outlets(talk.outlets());
}

template <class Link, class... Roles>
void serve_reduce(PipesTalk<Link>& talk, TaskContext& context, const PipesEvent& run, Roles&... roles) {
  Nobody nobody;
  auto& reducer = player<IsReducer>(nobody, roles...);
  auto& writer = player<IsWriter>(nobody, roles...);
  if constexpr (!is_played<decltype(reducer)>) {
    throw_error(hadoop_errc::no_reducer, "mapreduce.job.reduces");
  } else {
    WriterOutlet<std::remove_reference_t<decltype(writer)>> own{writer, context};
    if (!run.java) {
      if constexpr (!is_played<decltype(writer)>) throw_error(hadoop_errc::no_record_writer, java_writer);
      own.open();
      TaskOutlets outlets = talk.outlets();
      outlets.emit = [&own](ByteView key, ByteView value) { own.write(key, value); };
      context.exchange_outlets(std::move(outlets));
    }
    begin_role(reducer, context);
    PipesEvent event = talk.next();
    while (event.kind != PipesMessage::close) {
      const Bytes key{event.first.begin(), event.first.end()};
      Values values{[&]() -> std::optional<ByteView> {
        event = talk.next();
        if (talk.is_time()) context.tell_counts();
        return event.kind == PipesMessage::reduce_value ? std::optional{event.second} : std::nullopt;
      }};
      reducer.reduce(ByteView{key}, values, context);
      while (values.next()) {
      }
    }
    end_role(reducer, context);
    own.close();
    context.exchange_outlets(talk.outlets());
  }
}

}  // namespace detail

/// Performs one task of a Pipes job over `link`: as `run_task`, but with a given link. `now` returns the time; counters
/// are reported once a second.
///
/// Errors: throws what the roles throw, and `std::system_error` with the link's failure or with a `hadoop_errc`. Before
/// that it sends the text of the exception to Hadoop as the status of the task, if the link still works.
template <PipesLink Link, class... Roles>
  requires detail::TaskRoles<Roles...>
void serve_pipes(Link& link, PipesOptions options, const std::function<Instant()>& now, Roles&... roles) {
  detail::PipesTalk<Link> talk{link, std::move(options), now};
  try {
    talk.expect(PipesMessage::authentication_request);
    talk.expect(PipesMessage::start);
    talk.expect(PipesMessage::job_conf);
    TaskContext context{talk.conf(), talk.outlets()};
    const PipesEvent run = talk.next();
    if (run.kind == PipesMessage::run_map) detail::serve_map(talk, context, run, roles...);
    else detail::serve_reduce(talk, context, run, roles...);
    context.tell_counts();
    append_message(talk.outbox(), PipesMessage::done);
    talk.flush();
  } catch (const std::exception& failure) {
    try {
      append_status(talk.outbox(), failure.what());
      talk.flush();
    } catch (const std::system_error&) {  // the link is broken: report the first failure only
    }
    throw;
  }
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
