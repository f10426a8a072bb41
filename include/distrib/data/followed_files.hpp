// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/followed_stream.hpp>
#include <distrib/data/record_files.hpp>
#include <distrib/data/stream_place.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/stream_log/seen_source.hpp>
#include <distrib/stream_log/stream_item.hpp>
#include <distrib/stream_log/stream_log.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Which files are followed, and how long a process waits. A value.
struct FollowedFilesOptions {
  std::string directory;  ///< Where the files are added: a directory, or the URL of a prefix.
  std::string pattern = "*";  ///< Their names, with *, ? and [].
  std::string log;  ///< Directory of the log, or the URL of a prefix.
  OpenObjectStore open_store = {};  ///< Opens the stores of URLs.
  std::uint64_t batch_size = 0;  ///< Records of a batch.
  std::chrono::milliseconds look_every{200};  ///< How often the directory and the log are looked at while waiting.
  std::chrono::milliseconds give_up_after{0};  ///< Error after so long a wait for new records; 0: none.
  std::chrono::milliseconds believe_after{10'000};  ///< For so long a file that is gone or replaced may be seen late.
  std::uint64_t max_inflated_bytes = std::uint64_t{1} << 30;  ///< Limit for a file in memory.
};

namespace detail {

/// Record files that are added to a directory or to a prefix of an object store, as a `StreamPlace`.
class FilePlace final : public StreamPlace {
 public:
  explicit FilePlace(const FollowedFilesOptions& options)
      : directory_{options.directory},
        pattern_{options.pattern},
        open_store_{options.open_store},
        max_inflated_bytes_{options.max_inflated_bytes} {}

  [[nodiscard]] DISTRIB_DECL auto name() const -> std::string override;
  [[nodiscard]] auto kind() const -> std::string override { return "followed files"; }
  DISTRIB_DECL void check(Error& error) override;
  [[nodiscard]] DISTRIB_DECL auto look(StreamLog& next, std::uint64_t batch, Error& error)
      -> std::vector<StreamProposal> override;
  [[nodiscard]] DISTRIB_DECL auto hold(const StreamRange& range, std::uint64_t first, Error& error)
      -> std::shared_ptr<const StreamRecords> override;
  [[nodiscard]] DISTRIB_DECL auto sources(Error& error) -> std::optional<std::vector<std::string>> override;

 private:
  // A file, open.
  class Records final : public StreamRecords {
   public:
    explicit Records(RecordFiles records) : files{std::move(records)} {}
    [[nodiscard]] auto at(std::uint64_t record, Error& error) const -> ByteView override {
      return files.at(record, error);
    }
    [[nodiscard]] auto where(std::uint64_t record) const -> std::string override { return files.where(record); }

    RecordFiles files;
  };
  // An open file, and sums of its records that were asked for.
  struct Opened {
    std::string name;
    std::string version;  // of an object
    std::shared_ptr<const Records> records;
    std::map<std::uint64_t, StreamSum> sums;  // of the records before this one
  };
  // What tells a changed file from an unchanged one. An object has a version, a file the other members.
  struct Stamp {
    std::string version;
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    std::int64_t changed_ns = 0;
    [[nodiscard]] auto operator==(const Stamp&) const -> bool = default;
  };
  struct Listed {
    std::string name;
    Stamp stamp;
  };
  // A file that the log has all records of, as it was then.
  struct Known {
    Stamp stamp;
    std::uint64_t records = 0;
  };

  [[nodiscard]] DISTRIB_DECL auto is_wanted(const std::string& name) const -> bool;
  [[nodiscard]] DISTRIB_DECL auto place_of(const std::string& name) const -> std::string;
  [[nodiscard]] DISTRIB_DECL auto list(Error& error) -> std::vector<Listed>;
  [[nodiscard]] DISTRIB_DECL auto list_store(Error& error) -> std::vector<Listed>;
  [[nodiscard]] DISTRIB_DECL auto news_of(const StreamLog& log, const Listed& file, Error& error)
      -> std::optional<StreamProposal>;
  [[nodiscard]] DISTRIB_DECL auto open(const std::string& file, std::uint64_t least, Error& error) -> Opened*;
  [[nodiscard]] DISTRIB_DECL auto read(const std::string& file, std::string& version, Error& error) -> RecordFiles;
  [[nodiscard]] DISTRIB_DECL auto sum_before(Opened& file, std::uint64_t record, Error& error) -> StreamSum;

  // Files of a directory are mapped, objects are in memory.
  [[nodiscard]] auto most_open() const noexcept -> std::size_t { return store_ ? 4 : 16; }

  std::string directory_;
  std::string pattern_;
  OpenObjectStore open_store_;
  std::uint64_t max_inflated_bytes_;
  std::optional<ObjectDirectory> store_;  // if the directory is a URL
  std::list<Opened> opened_;  // the one that was used last comes first
  std::map<std::string, Known, std::less<>> known_;
};

}  // namespace detail

/// Record files that are added to a directory, or to a prefix of an object store, as batches: see `FollowedStream`. The
/// process that needs a batch which the log does not have lists the directory, and proposes what it finds there, file
/// after file in the order of their names. Before a file is logged, and before its records are used, all its records
/// are read and compared with the log.
///
/// Names that begin with "." or "_" or end in ".crc" are left out: write a file under such a name, then rename it; an
/// object is there when it is whole. A file may not change any more, but that records may be added at its end by
/// replacing it with a longer file. Of a prefix the objects without another "/" in their names are taken. An object is
/// read into memory; an object whose version is that of the log is not read again to find out whether it has grown.
///
/// Errors: also a `record_errc` or `data_errc` with the file; `data_errc::no_files` if the directory does not exist;
/// `record_errc::no_object_store`.
class FollowedFiles : public FollowedStream {
 public:
  /// Checks the options, and reads the log. Errors: as `FollowedStream`.
  FollowedFiles(const FollowedFilesOptions& options, ErrorRef to)
      : FollowedStream{std::make_unique<detail::FilePlace>(options),
                       {.log = options.log,
                        .open_store = options.open_store,
                        .batch_size = options.batch_size,
                        .look_every = options.look_every,
                        .give_up_after = options.give_up_after,
                        .believe_after = options.believe_after},
                       to} {}
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/data/impl/followed_files.ipp>
#endif
