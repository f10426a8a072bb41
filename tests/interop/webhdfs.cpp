// SPDX-License-Identifier: Apache-2.0
// Writes and reads files of an HDFS. webhdfs.py kills the servers meanwhile.
//
// usage: webhdfs COMMAND URL USER SERVERS [BYTES [PAUSE]]
//
// SERVERS: URLs of name nodes, separated by commas, or "httpfs=" and the URL of HttpFS.
//   write URL ... BYTES [PAUSE]   writes BYTES bytes of a fixed pseudo-random sequence
//   read URL ... 0 [PAUSE]        reads the file
//   put URL ...                   writes standard input
//   list URL ...                  lists a directory
//   rename URL ... PATH           renames the file to PATH
// With PAUSE, `write` and `read` print "paused" after that many bytes and wait for a line of standard input. They print
// the number of bytes and the SHA-256.
#include <distrib/core/sha256.hpp>
#include <distrib/remote/webhdfs.hpp>
#include <distrib/remote/webhdfs_writer.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr std::size_t block = 1 << 20;

struct Told {
  std::string url;
  distrib::WebHdfsOptions options;
  std::uint64_t bytes = 0;
  std::uint64_t pause = 0;  ///< Pause after this many bytes; 0: no pause.
};

void pause_at(Told& told, std::uint64_t done) {
  if (told.pause == 0 || done < told.pause) return;
  told.pause = 0;
  std::cout << "paused" << std::endl;
  std::string line;
  std::getline(std::cin, line);
}

void tell(std::uint64_t bytes, distrib::Sha256& hash) {
  std::cout << bytes << ' ' << distrib::to_hex(hash.finish()) << std::endl;
}

void write(Told told) {
  distrib::WebHdfsWriter writer{told.url, told.options, {.part_bytes = 32 << 20}};
  distrib::Sha256 hash;
  std::vector<std::byte> bytes(block);
  std::uint64_t state = 1;
  for (std::uint64_t done = 0; done < told.bytes; done += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(block, told.bytes - done)));
    for (std::byte& one : bytes) one = static_cast<std::byte>((state = state * 6364136223846793005U + 1) >> 56);
    hash.update(bytes);
    writer.write(bytes);
    pause_at(told, done);
  }
  writer.close();
  tell(told.bytes, hash);
}

void put(const Told& told) {
  const std::string bytes{std::istreambuf_iterator<char>{std::cin}, {}};
  distrib::WebHdfsWriter writer{told.url, told.options};
  writer.write(distrib::as_bytes(bytes));
  writer.close();
}

void read(Told told) {
  distrib::IoPool pool{4};
  told.options.pool = &pool;
  distrib::WebHdfsFile file{told.url, told.options};
  distrib::Sha256 hash;
  std::vector<std::byte> bytes(block);
  distrib::Error error;
  std::uint64_t done = 0;
  while (const std::size_t count = file.read(bytes, error)) {
    hash.update(distrib::ByteView{bytes}.first(count));
    done += count;
    pause_at(told, done);
  }
  throw_if(error);
  tell(done, hash);
}

void list(const Told& told) {
  distrib::WebHdfsClient client{told.url, told.options};
  for (const auto& entry : client.list(client.location().path)) std::cout << entry.name << ' ' << entry.bytes << '\n';
}

void rename(const Told& told, const std::string& to) {
  distrib::WebHdfsClient client{told.url, told.options};
  client.rename(client.location().path, to, false);
}

auto servers(std::string text, distrib::WebHdfsOptions& options) {
  if (text.starts_with("httpfs=")) {
    options.server = distrib::WebHdfsServer::httpfs;
    text.erase(0, 7);
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    options.namenodes.push_back(text.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 5) return 64;
  try {
    Told told{.url = words[2], .options = {.user = words[3]}};
    servers(words[4], told.options);
    const std::string& command = words[1];
    if (command == "put") put(told);
    if (command == "list") list(told);
    if (command == "rename") rename(told, words.at(5));
    if (command != "read" && command != "write") return 0;
    if (words.size() > 5) told.bytes = std::stoull(words[5]);
    if (words.size() > 6) told.pause = std::stoull(words[6]);
    if (command == "read") read(told);
    else write(told);
  } catch (const std::exception& thrown) {
    std::cerr << thrown.what() << '\n';
    return 1;
  }
  return 0;
}
