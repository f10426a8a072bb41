// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/formats/zip_directory.hpp>

#include <distrib/checkpoint/crc32.hpp>
#include <distrib/checkpoint/error.hpp>

#include "checkpoint/formats/formats_support.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using distrib::checkpoint_errc;
using distrib::Error;
using distrib::detail::read_zip_directory;
using distrib::detail::ZipEntry;
using distrib::detail::ZipLayout;
using support::Bytes;

namespace {

/// Returns an archive of small entries.
auto archive(const std::vector<std::pair<std::string, std::string>>& contents) -> Bytes {
  ZipLayout zip;
  Bytes bytes;
  for (const auto& [name, content] : contents) {
    const auto text = distrib::as_bytes(content);
    const auto before = zip.add(name, text.size(), distrib::detail::crc32_extend(0, text));
    bytes.insert(bytes.end(), before.begin(), before.end());
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  const auto end = zip.finish();
  bytes.insert(bytes.end(), end.begin(), end.end());
  return bytes;
}

const Bytes good = archive({{"a/1", "first"}, {"a/2", ""}, {"a/3", std::string(100, 'y')}});

auto entries_of(const Bytes& bytes, Error& error) -> std::vector<ZipEntry> {
  std::vector<ZipEntry> entries;
  if (!read_zip_directory(bytes.size(), support::read_from(bytes), entries, error)) entries.clear();
  return entries;
}

auto find(const Bytes& bytes, std::uint32_t magic, std::size_t number = 0) -> std::size_t {
  for (std::size_t at = 0; at + 4 <= bytes.size(); ++at)
    if (distrib::load_le<std::uint32_t>(bytes.data() + at) == magic && number-- == 0) return at;
  FAIL("no such record");
  return 0;
}

template <class T>
void set(Bytes& bytes, std::size_t at, T value) {
  distrib::store_le(bytes.data() + at, value);
}

constexpr std::uint32_t local = 0x04034B50;
constexpr std::uint32_t central = 0x02014B50;
constexpr std::uint32_t end64 = 0x06064B50;
constexpr std::uint32_t locator = 0x07064B50;
constexpr std::uint32_t end = 0x06054B50;

}  // namespace

TEST_CASE("zip: what is laid out is read again, aligned to 64 bytes", "[checkpoint][zip]") {
  Error error;
  const auto entries = entries_of(good, error);
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].name == "a/1");
  CHECK(entries[1].size == 0);
  for (const ZipEntry& entry : entries) {
    CHECK(entry.offset % 64 == 0);
    const auto bytes =
        distrib::ByteView{good}.subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.size));
    CHECK(distrib::detail::crc32_extend(0, bytes) == entry.crc32);
  }
  CHECK(distrib::as_text(distrib::ByteView{good}.subspan(static_cast<std::size_t>(entries[0].offset), 5)) == "first");
  CHECK(entries_of(archive({}), error).empty());
  CHECK_FALSE(error);
}

TEST_CASE("zip: sizes and offsets beyond 32 bits", "[checkpoint][zip]") {
  // The archive is only headers; the bytes of its entries are never read.
  ZipLayout zip;
  constexpr std::uint64_t large = (std::uint64_t{5} << 30) + 3;
  std::vector<std::pair<std::uint64_t, Bytes>> written;  // where what was written lies
  std::uint64_t size = 0;
  for (const auto& [name, bytes] : {std::pair{"a/0", std::uint64_t{10}}, {"a/1", large}, {"a/2", std::uint64_t{7}}}) {
    Bytes before = zip.add(name, bytes, 1234);
    const std::uint64_t length = before.size();
    written.emplace_back(size, std::move(before));
    size += length + bytes;
  }
  Bytes after = zip.finish();
  const std::uint64_t total = size + after.size();
  written.emplace_back(size, std::move(after));
  const distrib::detail::ReadAt read = [&](std::uint64_t offset, std::span<std::byte> to, Error&) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = std::byte{0};
      for (const auto& [at, bytes] : written)
        if (offset + i >= at && offset + i - at < bytes.size())
          to[i] = bytes[static_cast<std::size_t>(offset + i - at)];
    }
    return true;
  };
  std::vector<ZipEntry> entries;
  Error error;
  const bool is_read = read_zip_directory(total, read, entries, error);
  CAPTURE(error.where);
  REQUIRE(is_read);
  REQUIRE(entries.size() == 3);
  CHECK(entries[1].size == large);
  CHECK(entries[2].offset > large);
  CHECK(entries[2].size == 7);
  for (const ZipEntry& entry : entries) CHECK(entry.offset % 64 == 0);
}

TEST_CASE("zip: archives that two readers could understand differently are refused", "[checkpoint][zip]") {
  const struct {
    const char* what;
    std::function<void(Bytes&)> change;
    checkpoint_errc code;
  } cases[] = {
      {"does not end as a zip archive", [](Bytes& b) { b.resize(b.size() - 1); }, checkpoint_errc::bad_tensor_file},
      {"does not end as a zip archive", [](Bytes& b) { b.push_back(std::byte{0}); }, checkpoint_errc::bad_tensor_file},
      {"does not end as a zip archive", [](Bytes& b) { b.resize(10); }, checkpoint_errc::bad_tensor_file},
      {"does not end as a zip archive", [](Bytes& b) { b.clear(); }, checkpoint_errc::bad_tensor_file},
      {"is described twice, differently", [](Bytes& b) { set<std::uint16_t>(b, find(b, local) + 8, 8); },
       checkpoint_errc::bad_tensor_file},
      {"is encrypted", [](Bytes& b) { set<std::uint16_t>(b, find(b, central) + 8, 1); }, checkpoint_errc::unsupported},
      {"is stored with another size", [](Bytes& b) { set<std::uint32_t>(b, find(b, central) + 20, 4); },
       checkpoint_errc::bad_tensor_file},
      {"is described twice, differently", [](Bytes& b) { set<std::uint32_t>(b, find(b, local) + 22, 4); },
       checkpoint_errc::bad_tensor_file},
      {"is described twice, differently", [](Bytes& b) { set<std::uint32_t>(b, find(b, local) + 14, 4); },
       checkpoint_errc::bad_tensor_file},
      {"is described twice, differently", [](Bytes& b) { b[find(b, local) + 30] = std::byte{'b'}; },
       checkpoint_errc::bad_tensor_file},
      {"lies outside of the archive", [](Bytes& b) { set<std::uint32_t>(b, find(b, central) + 42, 1U << 20); },
       checkpoint_errc::bad_tensor_file},
      {"lies outside of the archive", [](Bytes& b) { set<std::uint32_t>(b, find(b, central) + 42, 1); },
       checkpoint_errc::bad_tensor_file},
      {"lies outside of the archive",
       [](Bytes& b) {
         for (const std::size_t at : {find(b, local, 2) + 18, find(b, central, 2) + 20}) {
           set<std::uint32_t>(b, at, 1U << 20);
           set<std::uint32_t>(b, at + 4, 1U << 20);
         }
       },
       checkpoint_errc::bad_tensor_file},
      {"entries a/1 and a/2 overlap",
       [](Bytes& b) {
         for (const std::size_t at : {find(b, local) + 18, find(b, central) + 20}) {
           set<std::uint32_t>(b, at, 100);
           set<std::uint32_t>(b, at + 4, 100);
         }
       },
       checkpoint_errc::bad_tensor_file},
      {"its zip64 sizes are missing",
       [](Bytes& b) {
         set<std::uint32_t>(b, find(b, central) + 20, 0xFFFFFFFF);
         set<std::uint32_t>(b, find(b, central) + 24, 0xFFFFFFFF);
       },
       checkpoint_errc::bad_tensor_file},
      {"contradicts the end of the archive", [](Bytes& b) { set<std::uint64_t>(b, find(b, end64) + 40, 1); },
       checkpoint_errc::bad_tensor_file},
      {"contradicts the end of the archive",
       [](Bytes& b) {
         set<std::uint64_t>(b, find(b, end64) + 24, 2);
         set<std::uint64_t>(b, find(b, end64) + 32, 2);
       },
       checkpoint_errc::bad_tensor_file},
      {"is longer than it says",
       [](Bytes& b) {
         for (const std::size_t at : {find(b, end64) + 24, find(b, end64) + 32}) set<std::uint64_t>(b, at, 2);
         for (const std::size_t at : {find(b, end) + 8, find(b, end) + 10}) set<std::uint16_t>(b, at, 2);
       },
       checkpoint_errc::bad_tensor_file},
      {"is shorter than it says",
       [](Bytes& b) {
         for (const std::size_t at : {find(b, end64) + 24, find(b, end64) + 32}) set<std::uint64_t>(b, at, 1U << 30);
         for (const std::size_t at : {find(b, end) + 8, find(b, end) + 10}) set<std::uint16_t>(b, at, 0xFFFF);
       },
       checkpoint_errc::bad_tensor_file},
      {"does not end where the archive ends",
       [](Bytes& b) {
         set<std::uint64_t>(b, find(b, end64) + 48, 0);
         set<std::uint32_t>(b, find(b, end) + 16, 0);
       },
       checkpoint_errc::bad_tensor_file},
      {"zip64 record is not where", [](Bytes& b) { set<std::uint64_t>(b, find(b, locator) + 8, 1U << 30); },
       checkpoint_errc::bad_tensor_file},
      {"zip64 record is not where", [](Bytes& b) { set<std::uint64_t>(b, find(b, end64) + 4, 45); },
       checkpoint_errc::bad_tensor_file},
      {"several disks", [](Bytes& b) { set<std::uint32_t>(b, find(b, locator) + 16, 2); },
       checkpoint_errc::unsupported},
      {"several disks", [](Bytes& b) { set<std::uint16_t>(b, find(b, central) + 34, 1); },
       checkpoint_errc::unsupported},
      {"list of entries is damaged", [](Bytes& b) { set<std::uint16_t>(b, find(b, central, 2) + 28, 0xFFFF); },
       checkpoint_errc::bad_tensor_file},
      {"list of entries is damaged", [](Bytes& b) { set<std::uint32_t>(b, find(b, central, 1), 0); },
       checkpoint_errc::bad_tensor_file},
  };
  for (const auto& c : cases) {
    Bytes bytes = good;
    c.change(bytes);
    Error error;
    CAPTURE(c.what);
    CHECK(entries_of(bytes, error).empty());
    CHECK(error.code == c.code);
    CHECK_THAT(error.where, ContainsSubstring(c.what));
  }
  Error error;
  CHECK(entries_of(archive({{"a/x", "1"}, {"a/x", "2"}}), error).empty());
  CHECK_THAT(error.where, ContainsSubstring("entry a/x occurs twice"));
}

TEST_CASE("zip: sizes after the bytes of an entry, as PyTorch writes them, are found in the list",
          "[checkpoint][zip]") {
  Bytes bytes = good;
  const std::size_t at = find(bytes, local);
  set<std::uint16_t>(bytes, at + 6, 1U << 3);
  set<std::uint16_t>(bytes, find(bytes, central) + 8, 1U << 3);
  for (const std::size_t field : {14U, 18U, 22U}) set<std::uint32_t>(bytes, at + field, 0);
  Error error;
  const auto entries = entries_of(bytes, error);
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].size == 5);
}

TEST_CASE("zip: the end of the archive is found before a comment of any length", "[checkpoint][zip]") {
  Bytes bytes = good;
  set<std::uint16_t>(bytes, find(bytes, end) + 20, 1000);
  bytes.resize(bytes.size() + 1000, std::byte{' '});
  Error error;
  CHECK(entries_of(bytes, error).size() == 3);
}

TEST_CASE("zip: a compressed entry is listed with the bytes that it has in the archive", "[checkpoint][zip]") {
  Bytes bytes = good;
  for (const std::size_t at : {find(bytes, local), find(bytes, central) + 2}) {
    set<std::uint16_t>(bytes, at + 8, 8);
    set<std::uint32_t>(bytes, at + 22, 1U << 31);  // its size when unpacked, which nothing is allocated for
  }
  Error error;
  const auto entries = entries_of(bytes, error);
  CAPTURE(error.where);
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].is_compressed);
  CHECK(entries[0].size == 5);
  CHECK_FALSE(entries[1].is_compressed);
}
