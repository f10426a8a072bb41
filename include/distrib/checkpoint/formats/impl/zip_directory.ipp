// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/formats/zip_directory.hpp>

#include <distrib/checkpoint/error.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Sizes of the fixed parts of the records, and the numbers with which they begin (APPNOTE, sections 4.3.7 to 4.3.16).
inline constexpr std::size_t zip_local_bytes = 30;
inline constexpr std::size_t zip_central_bytes = 46;
inline constexpr std::size_t zip_end_bytes = 22;
inline constexpr std::size_t zip_end64_bytes = 56;
inline constexpr std::size_t zip_locator_bytes = 20;
inline constexpr std::uint32_t zip_local_magic = 0x04034B50;
inline constexpr std::uint32_t zip_central_magic = 0x02014B50;
inline constexpr std::uint32_t zip_end_magic = 0x06054B50;
inline constexpr std::uint32_t zip_end64_magic = 0x06064B50;
inline constexpr std::uint32_t zip_locator_magic = 0x07064B50;
inline constexpr std::uint32_t zip_in_64 = 0xFFFFFFFF;  // "this number is in the zip64 record"
inline constexpr std::uint16_t zip_in_64_short = 0xFFFF;

/// The numbers of a record, read one after another. The record must have enough bytes.
class ZipNumbers {
 public:
  explicit ZipNumbers(const std::byte* at) noexcept : at_{at} {}

  template <class T>
  auto next() noexcept -> T {
    const T value = load_le<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  void skip(std::size_t bytes) noexcept { at_ += bytes; }

 private:
  const std::byte* at_;
};

/// The fields that the two descriptions of an entry have in common.
struct ZipFields {
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc32 = 0;
  std::uint64_t stored = 0;  // size as stored
  std::uint64_t size = 0;  // size when unpacked
  std::uint64_t header_offset = 0;  // only in the central directory
};

class ZipReader {
 public:
  ZipReader(std::uint64_t archive_bytes, const ReadAt& read, Error& error)
      : archive_bytes_{archive_bytes}, read_{read}, error_{error} {}

  DISTRIB_DECL auto entries(std::vector<ZipEntry>& entries) -> bool;

 private:
  struct Used {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t entry = 0;
  };

  auto refuse(std::string what) -> bool {
    error_ = {checkpoint_errc::bad_tensor_file, std::move(what)};
    return false;
  }
  auto unsupported(std::string what) -> bool {
    error_ = {checkpoint_errc::unsupported, std::move(what)};
    return false;
  }

  DISTRIB_DECL auto find_directory() -> bool;
  DISTRIB_DECL auto take_zip64(std::uint64_t end_at) -> bool;
  DISTRIB_DECL auto read_central(ByteView& rest, ZipEntry& entry, ZipFields& fields) -> bool;
  DISTRIB_DECL auto take_wide_numbers(const std::string& name, ByteView extra, std::span<std::uint64_t* const> wanted)
      -> bool;
  DISTRIB_DECL auto check_local(ZipEntry& entry, const ZipFields& fields, Used& used) -> bool;

  std::uint64_t archive_bytes_;
  const ReadAt& read_;
  Error& error_;
  std::uint64_t count_ = 0;
  std::uint64_t directory_bytes_ = 0;
  std::uint64_t directory_at_ = 0;
};

DISTRIB_DECL auto ZipReader::entries(std::vector<ZipEntry>& entries) -> bool {
  constexpr std::uint64_t most_directory_bytes = std::uint64_t{256} << 20;
  if (!find_directory()) return false;
  if (count_ > directory_bytes_ / zip_central_bytes) return refuse("the list of entries is shorter than it says");
  if (directory_bytes_ > most_directory_bytes)
    return unsupported("a list of entries of " + std::to_string(directory_bytes_) + " bytes");
  std::vector<std::byte> directory(static_cast<std::size_t>(directory_bytes_));
  if (!read_(directory_at_, directory, error_)) return false;
  ByteView rest = directory;
  std::vector<Used> used;
  entries.clear();
  for (std::uint64_t i = 0; i < count_; ++i) {
    ZipFields fields;
    Used own{0, 0, entries.size()};
    ZipEntry& entry = entries.emplace_back();
    if (!read_central(rest, entry, fields) || !check_local(entry, fields, own)) return false;
    used.push_back(own);
  }
  if (!rest.empty()) return refuse("the list of entries is longer than it says");

  std::sort(used.begin(), used.end(), [](const Used& a, const Used& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < used.size(); ++i)
    if (used[i].begin < used[i - 1].end)
      return refuse("entries " + entries[used[i - 1].entry].name + " and " + entries[used[i].entry].name + " overlap");
  std::sort(entries.begin(), entries.end(), [](const ZipEntry& a, const ZipEntry& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < entries.size(); ++i)
    if (entries[i].name == entries[i - 1].name) return refuse("entry " + entries[i].name + " occurs twice");
  return true;
}

// Finds the record at the end of the archive, and with it the list of entries.
DISTRIB_DECL auto ZipReader::find_directory() -> bool {
  const auto tail_bytes = std::min<std::uint64_t>(archive_bytes_, zip_end_bytes + zip_in_64_short);
  std::vector<std::byte> tail(static_cast<std::size_t>(tail_bytes));
  if (!read_(archive_bytes_ - tail_bytes, tail, error_)) return false;
  std::size_t at = tail.size() < zip_end_bytes ? 0 : tail.size() - zip_end_bytes + 1;
  while (at-- > 0) {
    const std::byte* const record = tail.data() + at;
    const auto comment = load_le<std::uint16_t>(record + zip_end_bytes - 2);
    if (load_le<std::uint32_t>(record) == zip_end_magic && at + zip_end_bytes + comment == tail.size()) break;
  }
  if (at == std::size_t(-1)) return refuse("it does not end as a zip archive: cut off, or no archive");
  ZipNumbers record{tail.data() + at + 4};
  const auto disk = record.next<std::uint16_t>();
  const auto first_disk = record.next<std::uint16_t>();
  const auto count_here = record.next<std::uint16_t>();
  count_ = record.next<std::uint16_t>();
  directory_bytes_ = record.next<std::uint32_t>();
  directory_at_ = record.next<std::uint32_t>();
  const std::uint64_t end_at = archive_bytes_ - tail_bytes + at;
  std::array<std::byte, zip_locator_bytes> locator{};
  if (end_at >= locator.size() && !read_(end_at - locator.size(), locator, error_)) return false;
  if (load_le<std::uint32_t>(locator.data()) == zip_locator_magic) return take_zip64(end_at);
  if (disk != 0 || first_disk != 0 || count_here != count_) return unsupported("an archive on several disks");
  if (directory_at_ > end_at || directory_bytes_ != end_at - directory_at_)
    return refuse("the list of entries does not end where the archive ends");
  return true;
}

// The numbers of the zip64 record count. Those that were found before must agree, as far as they fit.
DISTRIB_DECL auto ZipReader::take_zip64(std::uint64_t end_at) -> bool {
  const std::uint64_t locator_at = end_at - zip_locator_bytes;
  std::array<std::byte, zip_locator_bytes> locator{};
  std::array<std::byte, zip_end64_bytes> record{};
  if (!read_(locator_at, locator, error_)) return false;
  ZipNumbers place{locator.data() + 4};
  const auto disk_of_record = place.next<std::uint32_t>();
  const auto record_at = place.next<std::uint64_t>();
  const auto disks = place.next<std::uint32_t>();
  if (disk_of_record != 0 || disks > 1) return unsupported("an archive on several disks");
  if (record_at > locator_at || locator_at - record_at < record.size())
    return refuse("the zip64 record is not where the archive says");
  if (!read_(record_at, record, error_)) return false;
  ZipNumbers numbers{record.data()};
  const auto magic = numbers.next<std::uint32_t>();
  const auto bytes = numbers.next<std::uint64_t>();
  numbers.skip(4);  // versions
  const auto disk = numbers.next<std::uint32_t>();
  const auto first_disk = numbers.next<std::uint32_t>();
  const auto count_here = numbers.next<std::uint64_t>();
  const auto count = numbers.next<std::uint64_t>();
  const auto directory_bytes = numbers.next<std::uint64_t>();
  const auto directory_at = numbers.next<std::uint64_t>();
  if (magic != zip_end64_magic || bytes != locator_at - record_at - 12)
    return refuse("the zip64 record is not where the archive says");
  if (disk != 0 || first_disk != 0 || count_here != count) return unsupported("an archive on several disks");
  const auto differs = [](std::uint64_t narrow, std::uint64_t wide, std::uint64_t in_64) {
    return narrow != in_64 && narrow != wide;
  };
  if (differs(count_, count, zip_in_64_short) || differs(directory_bytes_, directory_bytes, zip_in_64) ||
      differs(directory_at_, directory_at, zip_in_64))
    return refuse("the zip64 record contradicts the end of the archive");
  if (directory_at > record_at || directory_bytes != record_at - directory_at)
    return refuse("the list of entries does not end where the archive ends");
  count_ = count;
  directory_bytes_ = directory_bytes;
  directory_at_ = directory_at;
  return true;
}

// Takes the next description from the central directory.
DISTRIB_DECL auto ZipReader::read_central(ByteView& rest, ZipEntry& entry, ZipFields& fields) -> bool {
  if (rest.size() < zip_central_bytes || load_le<std::uint32_t>(rest.data()) != zip_central_magic)
    return refuse("the list of entries is damaged");
  ZipNumbers record{rest.data() + 8};
  fields.flags = record.next<std::uint16_t>();
  fields.method = record.next<std::uint16_t>();
  record.skip(4);  // time and date
  fields.crc32 = record.next<std::uint32_t>();
  fields.stored = record.next<std::uint32_t>();
  fields.size = record.next<std::uint32_t>();
  const std::size_t name_bytes = record.next<std::uint16_t>();
  const std::size_t extra_bytes = record.next<std::uint16_t>();
  const std::size_t comment_bytes = record.next<std::uint16_t>();
  const auto disk = record.next<std::uint16_t>();
  record.skip(6);  // attributes
  fields.header_offset = record.next<std::uint32_t>();
  rest = rest.subspan(zip_central_bytes);
  if (rest.size() < name_bytes + extra_bytes + comment_bytes) return refuse("the list of entries is damaged");
  entry.name = as_text(rest.first(name_bytes));
  const ByteView extra = rest.subspan(name_bytes, extra_bytes);
  rest = rest.subspan(name_bytes + extra_bytes + comment_bytes);
  if (disk != 0) return unsupported("an archive on several disks");
  std::uint64_t* const wide[] = {&fields.size, &fields.stored, &fields.header_offset};
  return take_wide_numbers(entry.name, extra, wide);
}

// Replaces each wanted number that is in the zip64 part of an extra field, which has exactly these, in this order.
DISTRIB_DECL auto ZipReader::take_wide_numbers(const std::string& name, ByteView extra,
                                               std::span<std::uint64_t* const> wanted) -> bool {
  constexpr std::uint16_t zip64_id = 1;
  const auto missing = [](const std::uint64_t* number) { return *number == zip_in_64; };
  if (std::none_of(wanted.begin(), wanted.end(), missing)) return true;
  while (extra.size() >= 4) {
    const auto id = load_le<std::uint16_t>(extra.data());
    const std::size_t size = load_le<std::uint16_t>(extra.data() + 2);
    extra = extra.subspan(4);
    if (size > extra.size()) break;
    if (id != zip64_id) {
      extra = extra.subspan(size);
      continue;
    }
    ByteView numbers = extra.first(size);
    for (std::uint64_t* const number : wanted) {
      if (!missing(number)) continue;
      if (numbers.size() < sizeof *number) return refuse("entry " + name + ": its zip64 sizes are incomplete");
      *number = load_le<std::uint64_t>(numbers.data());
      numbers = numbers.subspan(sizeof *number);
    }
    return true;
  }
  return refuse("entry " + name + ": its zip64 sizes are missing");
}

// Compares an entry with the header before its bytes, and finds its bytes.
DISTRIB_DECL auto ZipReader::check_local(ZipEntry& entry, const ZipFields& fields, Used& used) -> bool {
  constexpr std::uint16_t encrypted = 1U | 1U << 6 | 1U << 13;
  constexpr std::uint16_t sizes_follow = 1U << 3;  // the sizes are after the bytes, and in the central directory
  const std::string what = "entry " + entry.name;
  if ((fields.flags & encrypted) != 0) return unsupported(what + " is encrypted");
  if (fields.method == 0 && fields.stored != fields.size)
    return refuse(what + " is stored with another size than its own");
  std::array<std::byte, zip_local_bytes> header{};
  if (fields.header_offset > directory_at_ || directory_at_ - fields.header_offset < header.size())
    return refuse(what + " lies outside of the archive");
  if (!read_(fields.header_offset, header, error_)) return false;
  ZipNumbers record{header.data()};
  const auto magic = record.next<std::uint32_t>();
  record.skip(2);  // version
  ZipFields local;
  local.flags = record.next<std::uint16_t>();
  local.method = record.next<std::uint16_t>();
  record.skip(4);  // time and date
  local.crc32 = record.next<std::uint32_t>();
  local.stored = record.next<std::uint32_t>();
  local.size = record.next<std::uint32_t>();
  const std::size_t name_bytes = record.next<std::uint16_t>();
  const std::size_t extra_bytes = record.next<std::uint16_t>();
  const std::uint64_t data_at = fields.header_offset + header.size() + name_bytes + extra_bytes;
  if (magic != zip_local_magic || data_at > directory_at_ || fields.stored > directory_at_ - data_at)
    return refuse(what + " lies outside of the archive");
  std::vector<std::byte> more(name_bytes + extra_bytes);
  if (!read_(fields.header_offset + header.size(), more, error_)) return false;
  bool same = local.method == fields.method && (local.flags & encrypted) == 0 &&
              as_text(ByteView{more}.first(name_bytes)) == entry.name;
  if ((local.flags & sizes_follow) == 0) {
    std::uint64_t* const wide[] = {&local.size, &local.stored};
    if (!take_wide_numbers(entry.name, ByteView{more}.subspan(name_bytes), wide)) return false;
    same = same && local.crc32 == fields.crc32 && local.stored == fields.stored && local.size == fields.size;
  }
  if (!same) return refuse(what + " is described twice, differently");
  entry.offset = data_at;
  entry.size = fields.stored;
  entry.crc32 = fields.crc32;
  entry.is_compressed = fields.method != 0;
  used.begin = fields.header_offset;
  used.end = data_at + fields.stored;
  return true;
}

DISTRIB_DECL auto read_zip_directory(std::uint64_t archive_bytes, const ReadAt& read, std::vector<ZipEntry>& entries,
                                     Error& error) -> bool {
  return ZipReader{archive_bytes, read, error}.entries(entries);
}

/// A record of a zip archive that is being written.
class ZipRecord {
 public:
  template <class T>
  auto add(T value) -> ZipRecord& {
    const ByteView bytes = bytes_of(value);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  auto add_text(std::string_view text) -> ZipRecord& {
    const ByteView bytes = as_bytes(text);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  // What both descriptions of an entry have, from the version to the size of the name.
  auto add_common(const ZipEntry& entry) -> ZipRecord& {
    const bool is_wide = entry.size >= zip_in_64;
    const auto size = is_wide ? zip_in_64 : static_cast<std::uint32_t>(entry.size);
    constexpr std::uint16_t utf8 = 1U << 11;
    constexpr std::uint16_t first_of_1980 = 0x21;  // the earliest date: the same tensors make the same file
    add(std::uint16_t{45}).add(utf8).add(std::uint16_t{0}).add(std::uint16_t{0}).add(first_of_1980);
    return add(entry.crc32).add(size).add(size).add(static_cast<std::uint16_t>(entry.name.size()));
  }
  auto bytes() && -> std::vector<std::byte> { return std::move(bytes_); }
  [[nodiscard]] auto size() const noexcept -> std::size_t { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

DISTRIB_DECL auto ZipLayout::add(std::string name, std::uint64_t size, std::uint32_t crc32) -> std::vector<std::byte> {
  constexpr std::uint64_t alignment = 64;
  constexpr std::size_t wide_bytes = 20;
  constexpr std::size_t padding_head = 4;
  Added added{{std::move(name), 0, size, crc32}, size_};
  const bool is_wide = size >= zip_in_64;
  const std::uint64_t unpadded =
      size_ + zip_local_bytes + added.entry.name.size() + (is_wide ? wide_bytes : 0) + padding_head;
  const std::uint64_t padding = (alignment - unpadded % alignment) % alignment;
  ZipRecord record;
  record.add(zip_local_magic).add_common(added.entry);
  record.add(static_cast<std::uint16_t>((is_wide ? wide_bytes : 0) + padding_head + padding))
      .add_text(added.entry.name);
  if (is_wide) record.add(std::uint16_t{1}).add(std::uint16_t{16}).add(size).add(size);
  record.add_text("FB").add(static_cast<std::uint16_t>(padding)).add_text(std::string(padding, 'Z'));  // as torch.save
  added.entry.offset = size_ + record.size();
  size_ = added.entry.offset + size;
  added_.push_back(std::move(added));
  return std::move(record).bytes();
}

DISTRIB_DECL auto ZipLayout::finish() const -> std::vector<std::byte> {
  ZipRecord record;
  for (const Added& added : added_) {
    const bool wide_size = added.entry.size >= zip_in_64;
    const bool wide_offset = added.header_offset >= zip_in_64;
    const auto wide_bytes = static_cast<std::uint16_t>((wide_size ? 16 : 0) + (wide_offset ? 8 : 0));
    record.add(zip_central_magic).add(std::uint16_t{45}).add_common(added.entry);
    record.add(static_cast<std::uint16_t>(wide_bytes == 0 ? 0 : 4 + wide_bytes));
    record.add(std::uint16_t{0}).add(std::uint16_t{0}).add(std::uint16_t{0}).add(std::uint32_t{0});
    record.add(wide_offset ? zip_in_64 : static_cast<std::uint32_t>(added.header_offset)).add_text(added.entry.name);
    if (wide_bytes != 0) record.add(std::uint16_t{1}).add(wide_bytes);
    if (wide_size) record.add(added.entry.size).add(added.entry.size);
    if (wide_offset) record.add(added.header_offset);
  }
  const std::uint64_t count = added_.size();
  const std::uint64_t bytes = record.size();
  record.add(zip_end64_magic).add(std::uint64_t{zip_end64_bytes - 12}).add(std::uint16_t{45}).add(std::uint16_t{45});
  record.add(std::uint32_t{0}).add(std::uint32_t{0}).add(count).add(count).add(bytes).add(size_);
  record.add(zip_locator_magic).add(std::uint32_t{0}).add(size_ + bytes).add(std::uint32_t{1});
  const auto few = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, zip_in_64_short));
  const auto narrow = [](std::uint64_t value) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, zip_in_64));
  };
  record.add(zip_end_magic).add(std::uint16_t{0}).add(std::uint16_t{0}).add(few).add(few);
  record.add(narrow(bytes)).add(narrow(size_)).add(std::uint16_t{0});
  return std::move(record).bytes();
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
