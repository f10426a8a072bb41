// SPDX-License-Identifier: Apache-2.0
// The options of `distrib records`.
#include "records.hpp"

#include <CLI/CLI.hpp>

namespace tools {

namespace {

using Run = int (*)(const RecordsOptions&);

/// Adds a subcommand with the options that all subcommands have.
auto add(CLI::App& records, const char* name, const char* text, RecordsOptions& options, int& code, Run run)
    -> CLI::App& {
  CLI::App* sub = records.add_subcommand(name, text);
  sub->add_option(
         "FILE", options.sources,
         "Files, directories, or patterns such as 'train-*'; on this machine, s3://, gs://, hdfs:// or http://")
      ->required();
  sub->add_flag("--json", options.json, "Print one JSON object per line");
  const char* group = "Files in HDFS";
  sub->add_option("--namenode", options.namenodes, "WebHDFS address of a name node, http://HOST:9870; repeat for each")
      ->allow_extra_args(false)
      ->group(group);
  sub->add_option("--hdfs-user", options.hdfs_user, "Name of the HDFS user")->envname("HADOOP_USER_NAME")->group(group);
  sub->add_option("--hdfs-token-file", options.hdfs_token_file, "A file with a delegation token, as text")
      ->group(group);
  sub->add_flag("--httpfs", options.httpfs, "The address is an HttpFS server, http://HOST:14000")->group(group);
  sub->callback([&options, &code, run] { code = run(options); });
  return *sub;
}

/// Adds a subcommand that reads records, with the options that all such subcommands have.
auto add_reading(CLI::App& records, const char* name, const char* text, RecordsOptions& options, int& code, Run run)
    -> CLI::App& {
  CLI::App& sub = add(records, name, text, options, code, run);
  sub.add_option("--max-record-bytes", options.max_record_bytes,
                 "Fail at a longer record. Default: 8 GiB in compressed and remote files, no limit in others")
      ->check(CLI::PositiveNumber.description("1 .."));
  return sub;
}

void add_output(CLI::App& sub, RecordsOptions& options, bool several) {
  CLI::Option* output =
      sub.add_option("-o,--output", options.output, "Write this file; on this machine, s3://, gs:// or hdfs://");
  if (several)
    sub.add_option("-d,--directory", options.directory, "Write files with the same names into this directory")
        ->excludes(output);
  else output->required();
  sub.add_flag("--force", options.force, "Replace existing files");
  sub.add_option("--compression", options.compression, "Compression of the output")
      ->check(CLI::IsMember({"none", "gzip", "zlib"}));
  sub.add_option("--level", options.level, "Level of the compression; -1: its default")
      ->check(CLI::Range(-1, 9).description("-1 .. 9"));
}

}  // namespace

void add_records(CLI::App& app, RecordsOptions& options, int& code) {
  CLI::App* records = app.add_subcommand("records", "Shows, checks, repairs and rewrites TFRecord files.");
  records->require_subcommand(1);
  records->footer(
      "Uncompressed, gzip and zlib files are recognised by their content.\n"
      "Exit code: 0 no error, 1 something is damaged, 64 wrong usage or a limit, 66 there is no such input, 74\n"
      "input or output failed.\n"
      "Examples: distrib records count data                     all files in the directory data\n"
      "          distrib records check data/train.tfrecord\n"
      "          distrib records head -n 3 data/train.tfrecord\n"
      "          distrib records cat -n 10 data/train.tfrecord\n"
      "          distrib records index data/train.tfrecord\n"
      "          distrib records split --parts 4 data/train.tfrecord\n"
      "          distrib records merge -o all.tfrecord data\n"
      "          distrib records salvage -o good.tfrecord data/damaged.tfrecord\n"
      "          distrib records recompress --compression gzip -d packed data");

  add_reading(*records, "count", "Counts the records; reads and verifies all of them.", options, code,
              [](const RecordsOptions& o) { return records_check(o, false); });
  add_reading(*records, "check", "Reports what is damaged, and where.", options, code,
              [](const RecordsOptions& o) { return records_check(o, true); });

  CLI::App& head = add_reading(*records, "head", "Shows the features of the records, and the first few records.",
                               options, code, records_head);
  head.add_option("-n", options.shown, "How many records to show")->capture_default_str();
  head.add_option("--schema-records", options.schema_records,
                  "How many records are searched for features; 0: all records")
      ->capture_default_str();
  CLI::App& cat =
      add_reading(*records, "cat", "Prints each record, an Example or a SequenceExample, as a line of JSON.", options,
                  code, records_cat);
  cat.add_option("-n", options.first, "How many records to print; 0: all")->capture_default_str();
  for (CLI::App* sub : {&head, &cat})
    sub->add_flag("--sequence", options.sequence, "The records are SequenceExamples, even if they look like Examples");

  CLI::App& index = add(*records, "index", "Writes an index beside each file, .NAME.index, for fast opening.", options,
                        code, records_index);
  index.add_flag("--dali", options.dali, "Write the index of NVIDIA DALI, NAME.idx, instead");
  index.add_flag("--force", options.force, "Replace an existing NAME.idx; .NAME.index is always replaced");

  CLI::App& split = add(*records, "split", "Shows where each file can be split into parts of about the same size.",
                        options, code, records_split);
  split.add_option("--parts", options.parts, "Number of parts")
      ->required()
      ->check(CLI::Range(1, 1'000'000).description("1 .."));
  split.add_option("-o,--output", options.output,
                   "Also write the parts, as OUTPUT-00000-of-00004 and so on; one FILE only");
  split.add_flag("--force", options.force, "Replace existing files");

  add_output(
      add_reading(*records, "merge", "Writes one file with the records of all files.", options, code, records_merge),
      options, false);
  CLI::App& salvage = add_reading(*records, "salvage", "Writes the records that can be found in damaged files.",
                                  options, code, records_salvage);
  add_output(salvage, options, true);
  salvage.add_flag("--certain", options.certain,
                   "Leave out records after damage that may belong to a file inside of a record");
  add_output(add_reading(*records, "recompress", "Writes the same records with another compression.", options, code,
                         records_recompress),
             options, true);
}

}  // namespace tools
