// SPDX-License-Identifier: Apache-2.0
// Operations on a real object store, for s3.py. Server, region and keys come from the environment.
//
// usage: s3 put URL | get URL | list URL | absent URL | replace URL VERSION | info URL | copy URL KEY | remove URL
// KEY...
//           | uploads URL | canonical
//
// put, absent, replace   write standard input to the object; print its version
// get                    writes the object to standard output
// list, uploads, info    print a line each: bytes, version and key; id and key
// canonical              reads requests from standard input, a line each: METHOD KEY QUERY HEADERS in hexadecimal
// digits,
//                        where QUERY and HEADERS are NAME=VALUE,...; prints path, query and canonical request of each
// Failures: "error: CODE: place", exit code 1.
#include <distrib/remote/s3/s3_client.hpp>
#include <distrib/remote/s3/s3_file.hpp>
#include <distrib/remote/s3/s3_location.hpp>
#include <distrib/remote/s3/s3_signature.hpp>
#include <distrib/remote/s3/s3_writer.hpp>

#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

auto standard_input() -> std::string { return {std::istreambuf_iterator<char>{std::cin}, {}}; }

auto from_hex(std::string_view text) -> std::string {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(distrib::detail::parse_whole<std::uint8_t>(text.substr(i, 2), 16).value_or(0));
  return bytes;
}

auto pairs_of(std::string_view text) -> distrib::NamedTexts {
  distrib::NamedTexts pairs;
  while (!text.empty()) {
    std::string_view value = distrib::detail::cut_before(text, ',');
    const std::string name = from_hex(distrib::detail::cut_before(value, '='));
    pairs.emplace_back(name, from_hex(value));
  }
  return pairs;
}

void canonical() {
  for (std::string line; std::getline(std::cin, line);) {
    std::string_view rest = line;
    const std::string method{distrib::detail::cut_before(rest, ' ')};
    const std::string key = from_hex(distrib::detail::cut_before(rest, ' '));
    const std::string query = distrib::canonical_query(pairs_of(distrib::detail::cut_before(rest, ' ')));
    const std::string path = "/bucket/" + distrib::percent_encode(key, "/");
    const auto made = distrib::CanonicalRequest::make(method, path, query, pairs_of(rest), distrib::unsigned_payload);
    std::cout << path << ' ' << query << ' ' << distrib::to_hex(distrib::as_bytes(made.text)) << '\n';
  }
}

void get(const std::string& url, const distrib::S3Options& options) {
  distrib::S3File file{url, options};
  std::vector<std::byte> block(1 << 20);
  distrib::Error error;
  while (const std::size_t count = file.read(block, error))
    std::cout << distrib::as_text(distrib::ByteView{block}.first(count));
  throw_if(error);
}

void run(const std::vector<std::string>& words) {
  const std::string& command = words[0];
  if (command == "canonical") return canonical();
  const std::string& url = words.at(1);
  distrib::IoPool pool{8};
  distrib::S3Options options{.part_bytes = 5 << 20, .pool = &pool};
  options.piece_bytes = 1 << 20;
  distrib::Error error;
  const distrib::S3Location location = distrib::S3Location::parse(url, error);
  throw_if(error);
  if (command == "put") {
    distrib::S3Writer writer{url, options};
    writer.write(distrib::as_bytes(standard_input()));
    writer.close();
    std::cout << writer.version() << '\n';
    return;
  }
  if (command == "get") return get(url, options);
  distrib::S3Client client{url, options};
  if (command == "list") {
    for (const auto& info : client.list(location.key, error))
      std::cout << info.bytes << ' ' << info.version << ' ' << info.key << '\n';
  } else if (command == "uploads") {
    for (const auto& upload : client.uploads(location.key, error)) std::cout << upload.id << ' ' << upload.key << '\n';
  } else if (command == "absent") {
    std::cout << client.put_if_absent(location.key, distrib::as_bytes(standard_input()), error) << '\n';
  } else if (command == "replace") {
    const std::string bytes = standard_input();
    std::cout << client.replace_if_version(location.key, distrib::as_bytes(bytes), words.at(2), error) << '\n';
  } else if (command == "info") {
    const auto info = client.info(location.key, error);
    std::cout << info.bytes << ' ' << info.version << ' ' << info.key << '\n';
  } else if (command == "copy") {
    client.copy(location.key, words.at(2), error);
  } else if (command == "remove") {
    client.remove_all(std::vector<std::string>{words.begin() + 2, words.end()}, error);
  }
  throw_if(error);
}

}  // namespace

auto main(int argc, char** argv) -> int {
  try {
    run({argv + 1, argv + argc});
  } catch (const std::system_error& error) {
    std::cerr << "error: " << error.code().value() << ' ' << error.code().category().name() << ": " << error.what()
              << '\n';
    return 1;
  }
}
