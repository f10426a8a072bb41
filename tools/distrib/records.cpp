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
  sub->add_option("FILE", options.sources,
                  "Files, directories, or patterns such as 'train-*'; here, in hdfs:// or at http://")
      ->required();
  sub->add_flag("--json", options.json, "One JSON object a line");
  const char* group = "Files in HDFS";
  sub->add_option("--namenode", options.namenodes, "Where WebHDFS is, http://HOST:9870; of all name nodes")
      ->allow_extra_args(false)
      ->group(group);
  sub->add_option("--hdfs-user", options.hdfs_user, "Who asks")->envname("HADOOP_USER_NAME")->group(group);
  sub->add_option("--hdfs-token-file", options.hdfs_token_file, "A file with a delegation token, as text")
      ->group(group);
  sub->add_flag("--httpfs", options.httpfs, "It is HttpFS, http://HOST:14000")->group(group);
  sub->callback([&options, &code, run] { code = run(options); });
  return *sub;
}

/// Adds a subcommand that reads records, with the options that all such subcommands have.
auto add_reading(CLI::App& records, const char* name, const char* text, RecordsOptions& options, int& code, Run run)
    -> CLI::App& {
  CLI::App& sub = add(records, name, text, options, code, run);
  sub.add_option("--max-record-bytes", options.max_record_bytes,
                 "Refuse longer records; unless told only those over 8 GiB in files that are compressed or elsewhere")
      ->check(CLI::PositiveNumber.description("1 .."));
  return sub;
}

void add_output(CLI::App& sub, RecordsOptions& options, bool several) {
  CLI::Option* output = sub.add_option("-o,--output", options.output, "The file to write");
  if (several)
    sub.add_option("-d,--directory", options.directory, "Write files of the same names into this directory")
        ->excludes(output);
  else output->required();
  sub.add_flag("--force", options.force, "Replace what is there");
  sub.add_option("--compression", options.compression, "How the output is wrapped")
      ->check(CLI::IsMember({"none", "gzip", "zlib"}));
  sub.add_option("--level", options.level, "Of the compression")->check(CLI::Range(-1, 9).description("-1 .. 9"));
}

}  // namespace

void add_records(CLI::App& app, RecordsOptions& options, int& code) {
  CLI::App* records = app.add_subcommand("records", "Looks into TFRecord files, mends and rewrites them.");
  records->require_subcommand(1);
  records->footer(
      "Exit code: 0 all is well, 1 something is damaged, 64 wrong usage or a limit, 66 no such input, 74\n"
      "input or output failed. Plain, gzip and zlib files are told apart by content.");

  add_reading(*records, "count", "How many records there are; reads and verifies all.", options, code,
              [](const RecordsOptions& o) { return records_check(o, false); });
  add_reading(*records, "check", "What is damaged, and where.", options, code,
              [](const RecordsOptions& o) { return records_check(o, true); });

  CLI::App& head = add_reading(*records, "head", "What is in the records: features, and the first few.", options, code,
                               records_head);
  head.add_option("-n", options.shown, "How many")->capture_default_str();
  head.add_option("--schema-records", options.schema_records, "Look for features in so many records; 0: in all")
      ->capture_default_str();
  CLI::App& cat = add_reading(*records, "cat", "Every record, an Example or a SequenceExample, as a line of JSON.",
                              options, code, records_cat);
  cat.add_option("-n", options.first, "At most so many records; 0: all")->capture_default_str();
  for (CLI::App* sub : {&head, &cat})
    sub->add_flag("--sequence", options.sequence,
                  "The records are SequenceExamples, also where they look like Examples");

  CLI::App& index = add(*records, "index", "Keeps an index beside each file, .NAME.index, for fast opening.", options,
                        code, records_index);
  index.add_flag("--dali", options.dali, "Write the text that NVIDIA DALI reads, NAME.idx, instead");
  index.add_flag("--force", options.force, "Replace what is there");

  CLI::App& split = add(*records, "split", "Where each file can be cut into parts of about equal size.", options, code,
                        records_split);
  split.add_option("--parts", options.parts, "How many")
      ->required()
      ->check(CLI::Range(1, 1'000'000).description("1 .."));
  split.add_option("-o,--output", options.output, "Also write the parts of one file, NAME-00000-of-00004 and so on");
  split.add_flag("--force", options.force, "Replace what is there");

  add_output(add_reading(*records, "merge", "One file with the records of all.", options, code, records_merge), options,
             false);
  CLI::App& salvage = add_reading(*records, "salvage", "Writes the records that can be found in damaged files.",
                                  options, code, records_salvage);
  add_output(salvage, options, true);
  salvage.add_flag("--certain", options.certain, "Leave out records that may belong to a file inside of a record");
  add_output(
      add_reading(*records, "recompress", "The same records, wrapped otherwise.", options, code, records_recompress),
      options, true);
}

}  // namespace tools
