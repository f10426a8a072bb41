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

/// What the subcommands of `distrib records` are told.
struct RecordsOptions {
  std::vector<std::string> sources;  ///< Files, directories, patterns.
  bool json = false;
  std::uint64_t max_record_bytes = 0;  ///< Where records are read; 0: the limit of `RecordReaderOptions`.
  std::uint64_t shown = 5;           ///< head: how many records.
  std::uint64_t first = 0;           ///< cat: at most so many records; 0: all.
  std::uint64_t schema_records = 1000;  ///< head: how many records the schema is inferred from; 0: all.
  bool sequence = false;             ///< head, cat: the records are SequenceExamples.
  std::uint64_t parts = 0;           ///< split.
  std::string output;                ///< merge, salvage, recompress, split: a file; index: none.
  std::string directory;             ///< recompress, salvage: where several outputs go.
  std::string compression;           ///< "none", "gzip", "zlib"; empty: merge and salvage write none.
  int level = -1;
  bool force = false;                ///< Outputs may be replaced.
  bool certain = false;              ///< salvage: leave out what may belong to an inner file.
  bool dali = false;                 ///< index: DALI's text.
  std::vector<std::string> namenodes;  ///< Of hdfs:// names: URLs of the name nodes.
  std::string hdfs_user;
  std::string hdfs_token_file;
  bool httpfs = false;               ///< What they name is HttpFS.
};

/// Adds `distrib records` to the command. What a subcommand ends with goes to `code`.
void add_records(CLI::App& app, RecordsOptions& options, int& code);

// The subcommands, one family a file. Each returns the exit code.
[[nodiscard]] auto records_check(const RecordsOptions& options, bool list_damage) -> int;
[[nodiscard]] auto records_head(const RecordsOptions& options) -> int;
[[nodiscard]] auto records_cat(const RecordsOptions& options) -> int;
[[nodiscard]] auto records_index(const RecordsOptions& options) -> int;
[[nodiscard]] auto records_split(const RecordsOptions& options) -> int;
[[nodiscard]] auto records_merge(const RecordsOptions& options) -> int;
[[nodiscard]] auto records_salvage(const RecordsOptions& options) -> int;
[[nodiscard]] auto records_recompress(const RecordsOptions& options) -> int;

}  // namespace tools
