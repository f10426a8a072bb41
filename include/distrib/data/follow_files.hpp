// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/followed_files.hpp>
#include <distrib/data/followed_source.hpp>
#include <distrib/data/followed_stream.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/schema.hpp>
#include <distrib/record/any_object_store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace distrib {
inline namespace v0 {

/// Trains from TFRecord files that are added to a directory while the job runs:
///
///     const auto clicks = FollowFiles{.directory = "incoming", .log = "run/stream"}
///                             .schema(feature("x", &Click::x), feature("y", &Click::y))
///                             .batch(64);
///
/// A file is visible when its name is: write it as "_NAME" or ".NAME" in the same directory, then rename it. Files are
/// taken in the order in which they appear, those that appear together in the order of their names. Which records are
/// in which batch is written into `log` before any task computes with it: so every restart has the same batches, and
/// ends with the same bits. A step whose records are not there yet is waited for.
///
/// Files and log may also be in an object store with conditional writes:
///
///     FollowFiles{.directory = "s3://bucket/incoming", .log = "s3://bucket/run/log", .open_store = s3_stores()}
///
/// Do not change or remove a file before the oldest kept checkpoint is newer than its records. A file may be replaced
/// by a longer one that begins with the same records. See docs/guide/streams.md.
struct FollowFiles {
  /// Where the files are added: a directory, or the URL of a prefix of an object store. All tasks see it, a directory
  /// under any path.
  std::string directory;
  std::string pattern = "*";  ///< Names of the files, with *, ? and [].
  /// Place of the log: a directory, which is created, or the URL of a prefix. All tasks share it, no other job uses it.
  std::string log;
  /// Opens the stores of URLs: `s3_stores()`. Empty: URLs are refused, `record_errc::no_object_store`.
  OpenObjectStore open_store = {};
  /// How often a waiting task looks at the directory and the log. 0: every 200 ms, in an object store every 2 s.
  std::chrono::milliseconds look_every{0};
  /// The job ends with `stream_errc::nothing_new` if no new records came for so long. 0: it waits without end.
  std::chrono::milliseconds give_up_after{0};
  /// A file that is in the log, and gone or replaced for so long, ends the job; a shared file system may show it late.
  std::chrono::milliseconds believe_after{10'000};
  /// Limit for each compressed file, and each object, which are in memory.
  std::uint64_t max_inflated_bytes = std::uint64_t{1} << 30;

  /// Says which feature of a record fills which member: as `TfRecords::schema`.
  template <class... Fs>
    requires(detail::is_feature_of<Fs, typename detail::RecordOf<Fs...>::Type> && ...)
  [[nodiscard]] auto schema(Fs... features) const {
    using E = typename detail::RecordOf<Fs...>::Type;
    return schema(Schema<E, typename Fs::Member...>{features...});
  }
  template <class... Fs> auto schema(Fs...) const -> detail::NoDataset {
    detail::explain_schema<typename detail::RecordOf<Fs...>::Type, Fs...>();
    return {};
  }

  /// This overload takes a schema that `distrib::schema` has made.
  template <class E, FeatureMember... Ms>
  [[nodiscard]] auto schema(const Schema<E, Ms...>& made) const -> FollowedDataset<E, Ms...> {
    using std::chrono::milliseconds;
    const milliseconds often =
        detail::is_url(directory) || detail::is_url(log) ? milliseconds{2'000} : milliseconds{200};
    const FollowedFilesOptions options{.directory = directory,
                                       .pattern = pattern,
                                       .log = log,
                                       .open_store = open_store,
                                       .batch_size = 0,
                                       .look_every = look_every.count() > 0 ? look_every : often,
                                       .give_up_after = give_up_after,
                                       .believe_after = believe_after,
                                       .max_inflated_bytes = max_inflated_bytes};
    return {[options](std::uint64_t batch_size, Error& error) -> std::shared_ptr<FollowedStream> {
              FollowedFilesOptions with_size = options;
              with_size.batch_size = batch_size;
              return std::make_shared<FollowedFiles>(with_size, error);
            },
            made};
  }
};

}  // namespace v0
}  // namespace distrib
