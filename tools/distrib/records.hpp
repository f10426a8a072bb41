// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tools {

/// The options of the subcommands of `distrib records`.
struct RecordsOptions {
  std::vector<std::string> sources;     ///< Files, directories, patterns.
  bool json = false;
  std::uint64_t max_record_bytes = 0;   ///< A longer record is a failure; 0: the default of `RecordReaderOptions`.
  std::uint64_t shown = 5;              ///< head: how many records.
  std::uint64_t first = 0;              ///< cat: most records of all files together; 0: all.
  std::uint64_t schema_records = 1000;  ///< head: number of records for inferring the schema; 0: all.
  bool sequence = false;                ///< head, cat: the records are SequenceExamples.
  std::uint64_t parts = 0;              ///< split: number of parts.
  /// merge, salvage, recompress: the output file. split: what the names of the parts begin with; empty: no part is
  /// written.
  std::string output;
  std::string directory;                ///< recompress, salvage: where several outputs go.
  std::string compression;  ///< "none", "gzip", "zlib"; empty: merge and salvage do not compress, recompress refuses.
  int level = -1;  ///< Level of the compression, 0 to 9; -1: its default.
  bool force = false;  ///< Outputs may replace existing files.
  bool certain = false;  ///< salvage: leave out records that may belong to an inner file.
  bool dali = false;  ///< index: write the format of DALI.
  std::vector<std::string> namenodes;  ///< For hdfs:// names: URLs of the name nodes.
  std::string hdfs_user;
  std::string hdfs_token_file;
  bool httpfs = false;  ///< The URLs in `namenodes` are of HttpFS.
};

/// Adds `distrib records` to the command. A subcommand stores its exit code in `code`.
void add_records(CLI::App& app, RecordsOptions& options, int& code);

// The subcommands, one family in each file. Each returns the exit code.
[[nodiscard]] auto records_check(const RecordsOptions& options, bool list_damage) -> int;
[[nodiscard]] auto records_head(const RecordsOptions& options) -> int;
[[nodiscard]] auto records_cat(const RecordsOptions& options) -> int;
[[nodiscard]] auto records_index(const RecordsOptions& options) -> int;
[[nodiscard]] auto records_split(const RecordsOptions& options) -> int;
[[nodiscard]] auto records_merge(const RecordsOptions& options) -> int;
[[nodiscard]] auto records_salvage(const RecordsOptions& options) -> int;
[[nodiscard]] auto records_recompress(const RecordsOptions& options) -> int;

}  // namespace tools
