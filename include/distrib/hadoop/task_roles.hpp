// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/hadoop/task_context.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>

namespace distrib {
inline namespace v0 {
namespace hadoop {

// A task is composed of values. Each value plays one or several of these roles. If a mapper or a reducer also has
// `begin(TaskContext&)` or `end(TaskContext&)`, these are called before the first pair and after the last one. All
// functions may throw: the task then fails, and Hadoop starts it again, perhaps on another machine, by default up to
// four attempts in all.

/// Turns each pair of the input into other pairs: `map(ByteView key, ByteView value, TaskContext&)` emits them.
template <class M>
concept Mapper = std::move_constructible<M> && requires(M& mapper, ByteView key, ByteView value, TaskContext& context) {
  mapper.map(key, value, context);
};

/// Turns each key with all its values into pairs: `reduce(ByteView key, Values&, TaskContext&)` emits them. Keys come
/// in the order of Java's comparator.
template <class R>
concept Reducer =
    std::move_constructible<R> &&
    requires(R& reducer, ByteView key, Values& values, TaskContext& context) { reducer.reduce(key, values, context); };

/// Reduces the pairs that a map emitted for one key before they are sent: `combine(ByteView key, Values&,
/// TaskContext&)` emits fewer pairs. A key may be combined several times, each time with some of its values, so the
/// emitted pairs must be valid input for the reducer and for the combiner.
template <class C>
concept Combiner = std::move_constructible<C> && requires(C& role, ByteView key, Values& values, TaskContext& context) {
  role.combine(key, values, context);
};

/// Chooses the reduce of a key: `partition(ByteView key, std::uint32_t reduces)` returns a number below `reduces`, the
/// same for the same key. Without a Partitioner, Java's partitioner is used.
template <class P>
concept Partitioner = std::move_constructible<P> && requires(P& partitioner, ByteView key, std::uint32_t reduces) {
  { partitioner.partition(key, reduces) } -> std::convertible_to<std::uint32_t>;
};

/// Reads the input of a map, for jobs with `isjavarecordreader=false`: `open(ByteView split, TaskContext&)`; then
/// `next()`, which returns an optional KeyValue whose bytes are valid until the next call; and `progress()`, 0 to 1.
template <class R>
concept RecordReader = std::move_constructible<R> && requires(R& reader, ByteView split, TaskContext& context) {
  reader.open(split, context);
  { reader.next() } -> std::convertible_to<std::optional<KeyValue>>;
  { reader.progress() } -> std::convertible_to<float>;
};

/// Writes the output of a reduce, or of a map if the job has no reduces, for jobs with `isjavarecordwriter=false`:
/// `open(TaskContext&)`, then `write(ByteView key, ByteView value)` for each pair, then `close()`. If it is destroyed
/// before `close()`, what it wrote must not count.
template <class W>
concept RecordWriter =
    std::move_constructible<W> && requires(W& writer, ByteView key, ByteView value, TaskContext& context) {
      writer.open(context);
      writer.write(key, value);
      writer.close();
    };

namespace detail {

/// True for a type that plays at least one of the roles.
template <class T>
concept TaskRole = Mapper<T> || Reducer<T> || Combiner<T> || Partitioner<T> || RecordReader<T> || RecordWriter<T>;

template <class T> struct IsMapper : std::bool_constant<Mapper<T>> {};
template <class T> struct IsReducer : std::bool_constant<Reducer<T>> {};
template <class T> struct IsCombiner : std::bool_constant<Combiner<T>> {};
template <class T> struct IsPartitioner : std::bool_constant<Partitioner<T>> {};
template <class T> struct IsReader : std::bool_constant<RecordReader<T>> {};
template <class T> struct IsWriter : std::bool_constant<RecordWriter<T>> {};

/// The number of types among `Roles` that play a role.
template <template <class> class Is, class... Roles>
inline constexpr std::size_t players = (0 + ... + (Is<Roles>::value ? 1 : 0));

template <class... Roles>
inline constexpr bool once_each =
    players<IsMapper, Roles...> <= 1 && players<IsReducer, Roles...> <= 1 && players<IsCombiner, Roles...> <= 1 &&
    players<IsPartitioner, Roles...> <= 1 && players<IsReader, Roles...> <= 1 && players<IsWriter, Roles...> <= 1;

/// Stands for a role that no argument plays.
struct Nobody {};

/// Returns the argument that plays a role, or `nobody`.
template <template <class> class Is> auto player(Nobody& nobody) -> Nobody& { return nobody; }
template <template <class> class Is, class First, class... Rest>
auto player(Nobody& nobody, First& first, Rest&... rest) -> auto& {
  if constexpr (Is<First>::value) return first;
  else return player<Is>(nobody, rest...);
}

template <class T> inline constexpr bool is_played = !std::is_same_v<std::remove_cvref_t<T>, Nobody>;

template <class T> void begin_role(T& role, TaskContext& context) {
  if constexpr (requires { role.begin(context); }) role.begin(context);
}
template <class T> void end_role(T& role, TaskContext& context) {
  if constexpr (requires { role.end(context); }) role.end(context);
}

/// The roles of a task: a Mapper, and at most one of each other role.
template <class... Roles>
concept TaskRoles =
    (TaskRole<Roles> && ...) && detail::players<detail::IsMapper, Roles...> == 1 && detail::once_each<Roles...>;

/// Fails to compile with one sentence for each mistake in `Roles`. For the unconstrained overloads of functions that
/// take roles.
template <class... Roles> constexpr void explain_task_roles() {
  constexpr bool all_play = (TaskRole<Roles> && ...);
  constexpr bool has_mapper = players<IsMapper, Roles...> != 0;
  constexpr bool once = once_each<Roles...> && players<IsMapper, Roles...> <= 1;
  static_assert(all_play,
                "distrib: an argument plays no role in a task. A Mapper has map(ByteView key, ByteView value, "
                "TaskContext&); a Reducer reduce(ByteView key, Values&, TaskContext&); a Combiner combine with the "
                "same arguments; a Partitioner partition(ByteView key, std::uint32_t reduces) that returns a number; a "
                "RecordReader open(ByteView split, TaskContext&), next() and progress(); a RecordWriter "
                "open(TaskContext&), write(ByteView key, ByteView value) and close()");
  static_assert(has_mapper || !all_play,
                "distrib: a task needs a Mapper, which has map(ByteView key, ByteView value, TaskContext&)");
  static_assert(once, "distrib: two arguments play the same role in a task; pass only one of each");
}

}  // namespace detail

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
