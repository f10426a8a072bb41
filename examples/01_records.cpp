// SPDX-License-Identifier: Apache-2.0
// A TFRecord file: write it, read it in order, read a record by number, and find the damage in it.
#include <distrib/record/record_index.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/record_writer.hpp>

#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace {

void write(const std::string& file) {
  constexpr std::array<std::string_view, 3> words{"worker", "pushes", "gradients"};
  distrib::RecordWriter writer{file, {.rename_on_close = true}};  // readers see the whole file or none
  for (const std::string_view word : words) writer.append(distrib::as_bytes(word));
  writer.close();  // throws if it fails; the destructor could not
}

auto read(const std::string& file) -> std::string {
  std::string text;
  for (const distrib::Record& record : distrib::RecordReader{file}) {
    text += text.empty() ? "" : " ";
    text += distrib::as_text(record.bytes);
  }
  return text;
}

auto read_one(const std::string& file, std::size_t number) -> std::string {
  const distrib::RecordIndex index{file};
  return std::string{distrib::as_text(index.at(number).bytes)};
}

void damage(const std::string& file, std::streamoff offset) {
  std::fstream stream{file, std::ios::binary | std::ios::in | std::ios::out};
  stream.seekp(offset).put('?');
}

// Prints the good records and the first damage; returns how many records were read.
auto salvage(const std::string& file) -> std::uint64_t {
  distrib::RecordReader reader{file};
  while (const auto record = reader.try_next())
    std::printf("good: %s\n", std::string{distrib::as_text(record->bytes)}.c_str());
  if (reader.error().code == distrib::failure::corrupt)
    std::printf("bad: %s: %s\n", reader.error().where.c_str(), reader.error().code.message().c_str());
  return reader.number();
}

}  // namespace

auto main() -> int try {
  const std::string file = "01_records.tfrecord";
  write(file);
  std::printf("all: %s\nnumber 2: %s\n", read(file).c_str(), read_one(file, 2).c_str());
  if (read(file) != "worker pushes gradients") return 1;

  damage(file, 37);  // inside the second payload
  const bool found = salvage(file) == 1;
  std::filesystem::remove(file);
  return found ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
