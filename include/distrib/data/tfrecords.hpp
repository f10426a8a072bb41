// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/data/record_files.hpp>
#include <distrib/data/tfrecord_source.hpp>
#include <distrib/example/schema.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// Which records to read, what is in them, in which order, how many at a time; a Dataset. Every call gives a copy with
/// one more thing said; the last one counts. No file is touched before `open()`. Made by `tfrecords(...).schema(...)`.
/// A value; const access from any thread.
template <class E, FeatureMember... Ms>
class TfRecordDataset {
 public:
  using ExampleType = E;
  using Source = TfRecordSource<E, Ms...>;

  TfRecordDataset(std::vector<std::string> sources, const Schema<E, Ms...>& schema)
      : sources_{std::move(sources)}, schema_{schema} {}

  /// A shuffled order, another one in each epoch, that is a function of `seed`. Unless called: the order of the files.
  [[nodiscard]] auto shuffle(std::uint64_t seed) const -> TfRecordDataset {
    TfRecordDataset copy = *this;
    copy.plan_.seed = seed;
    return copy;
  }

  /// Every record comes `epochs` times. Unless called: for ever.
  [[nodiscard]] auto repeat(std::uint64_t epochs) const -> TfRecordDataset {
    TfRecordDataset copy = *this;
    copy.plan_.epochs = epochs;
    return copy;
  }

  /// `records` (1 .. 2^31) a batch. Has to be called.
  [[nodiscard]] auto batch(std::uint64_t records) const -> TfRecordDataset {
    TfRecordDataset copy = *this;
    copy.plan_.batch_size = records;
    return copy;
  }

  /// How much the payloads of compressed files, which are held in memory, may take all together. 1 GiB unless told.
  [[nodiscard]] auto max_inflated_bytes(std::uint64_t bytes) const -> TfRecordDataset {
    TfRecordDataset copy = *this;
    copy.max_inflated_bytes_ = bytes;
    return copy;
  }

  /// Finds the files, reads the headers of all records and inflates what is compressed. Empty after a failure; `error`
  /// then names it and its place: a `data_errc`, a `record_errc`, or the system's reason.
  [[nodiscard]] auto open(Error& error) const -> std::optional<Source> {
    error = {};
    const std::vector<std::string> paths = find_files(sources_, error);
    if (error) return std::nullopt;
    RecordFiles files{paths, max_inflated_bytes_, error};
    if (error) return std::nullopt;
    std::optional<Source> source{std::in_place, std::move(files), schema_, plan_, error};
    if (!error) return source;
    for (const std::string& path : sources_) error.where += (error.where.empty() ? "" : ", ") + path;
    return std::nullopt;
  }

  /// The same; a failure is thrown as `std::system_error`.
  [[nodiscard]] auto open() const -> Source {
    Error error;
    std::optional<Source> source = open(error);
    throw_if(error);
    return *std::move(source);
  }

  /// The same; a failure goes to `ec`.
  [[nodiscard]] auto open(std::error_code& ec) const -> std::optional<Source> {
    Error error;
    std::optional<Source> source = open(error);
    ec = error.code;
    return source;
  }

 private:
  std::vector<std::string> sources_;
  Schema<E, Ms...> schema_;
  ReadingPlan plan_;
  std::uint64_t max_inflated_bytes_ = std::uint64_t{1} << 30;
};

namespace detail {

template <class... Fs>
struct RecordOf {
  using Type = void;
};
template <class E, class M, class... Fs>
struct RecordOf<Feature<E, M>, Fs...> {
  using Type = E;
};

}  // namespace detail

/// Record files of which it is not said yet what is in them: call `schema`. A value. Made by `tfrecords`.
class TfRecords {
 public:
  explicit TfRecords(std::vector<std::string> sources) : sources_{std::move(sources)} {}

  /// What a record holds, and which members of which struct that fills: `schema(feature("label", &Digit::label), ...)`.
  /// Throws `std::system_error` with `example_errc::duplicate_feature`.
  template <class... Fs>
    requires(detail::is_feature_of<Fs, typename detail::RecordOf<Fs...>::Type> && ...)
  [[nodiscard]] auto schema(Fs... features) const {
    using E = typename detail::RecordOf<Fs...>::Type;
    return TfRecordDataset<E, typename Fs::Member...>{sources_, Schema<E, typename Fs::Member...>{features...}};
  }
  template <class... Fs>
  auto schema(Fs...) const -> detail::NoDataset {
    detail::explain_schema<typename detail::RecordOf<Fs...>::Type, Fs...>();
    return {};
  }

  /// The same with a schema made before by `distrib::schema`.
  template <class E, FeatureMember... Ms>
  [[nodiscard]] auto schema(const Schema<E, Ms...>& schema) const -> TfRecordDataset<E, Ms...> {
    return {sources_, schema};
  }

  // What comes after the schema, for those who forgot it.
  constexpr auto shuffle(auto... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }
  constexpr auto repeat(auto... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }
  constexpr auto batch(auto... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }
  constexpr auto open(auto&&... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }

 private:
  template <class... Told>
  static constexpr auto schema_first() -> detail::NoDataset {
    constexpr bool has_schema = sizeof...(Told) > 1000;
    static_assert(
        has_schema,
        "distrib: tfrecords(...) needs .schema(feature(\"name\", &Struct::member), ...) before anything else: "
        "it says what a record holds");
    return {};
  }

  std::vector<std::string> sources_;
};

/// The record files that `sources` stand for (files, directories, patterns: see `find_files`), plain, gzip or zlib,
/// found out by content:
///
///     const auto digits = tfrecords("data/train-*")
///                             .schema(feature("image", &Digit::image), feature("label", &Digit::label))
///                             .shuffle(7).batch(64);
template <std::convertible_to<std::string>... Paths>
[[nodiscard]] auto tfrecords(Paths&&... sources) -> TfRecords {
  std::vector<std::string> paths;
  (paths.emplace_back(std::forward<Paths>(sources)), ...);
  return TfRecords{std::move(paths)};
}

/// The same with a list that was put together at run time.
[[nodiscard]] inline auto tfrecords(std::vector<std::string> sources) -> TfRecords {
  return TfRecords{std::move(sources)};
}

}  // namespace distrib::inline v0
