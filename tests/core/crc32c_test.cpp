// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/crc32c.hpp>

#include "support/catch.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace {

constexpr auto check_text() {
  std::array<std::byte, 9> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>('1' + i);
  return bytes;
}
constexpr auto check_bytes = check_text();
static_assert(distrib::crc32c(check_bytes) == 0xE3069283);

/// The definition: one bit at a time.
auto by_definition(distrib::ByteView bytes) -> std::uint32_t {
  std::uint32_t state = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    state ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = (state & 1) != 0 ? (state >> 1) ^ 0x82F63B78 : state >> 1;
  }
  return ~state;
}

auto noise(std::size_t size) -> std::vector<std::byte> {
  std::vector<std::byte> bytes(size);
  std::uint32_t word = 12345;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((word = word * 1664525 + 1013904223) >> 24);
  return bytes;
}

auto bytewise(std::uint32_t state, distrib::ByteView bytes) -> std::uint32_t {
  return distrib::detail::crc32c_bytewise(state, bytes);
}

/// True if every variant that this machine has computes the state `expected` after `bytes`.
auto same_every_way(std::uint32_t state, distrib::ByteView bytes, std::uint32_t expected) -> bool {
  bool same = ~distrib::detail::crc32c_extend(~state, bytes) == expected;
  same = same && distrib::detail::crc32c_portable(state, bytes) == expected && bytewise(state, bytes) == expected;
#if defined(__x86_64__)
  if (distrib::detail::crc32c_has_pclmul()) same = same && distrib::detail::crc32c_pclmul(state, bytes) == expected;
  if (distrib::detail::crc32c_has_twos()) same = same && distrib::detail::crc32c_twos(state, bytes) == expected;
  if (distrib::detail::crc32c_has_wide()) same = same && distrib::detail::crc32c_wide(state, bytes) == expected;
#elif defined(__aarch64__)
  if (distrib::detail::crc32c_has_arm()) same = same && distrib::detail::crc32c_arm(state, bytes) == expected;
#endif
  return same;
}

}  // namespace

TEST_CASE("crc32c: published values", "[core][crc32c]") {
  std::array<std::byte, 32> bytes{};  // RFC 3720, appendix B.4
  CHECK(distrib::crc32c(bytes) == 0x8A9136AA);
  bytes.fill(std::byte{0xFF});
  CHECK(distrib::crc32c(bytes) == 0x62A8AB43);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  CHECK(distrib::crc32c(bytes) == 0x46DD794E);
  std::reverse(bytes.begin(), bytes.end());
  CHECK(distrib::crc32c(bytes) == 0x113FDB5C);
  CHECK(distrib::crc32c(distrib::as_bytes("123456789")) == 0xE3069283);
  CHECK(distrib::crc32c({}) == 0);
}

TEST_CASE("crc32c: all variants compute the same bits at all lengths and alignments", "[core][crc32c]") {
  const std::vector<std::byte> bytes = noise(700);
  for (std::size_t start = 0; start < 64; ++start)
    for (std::size_t size = 0; size <= 600; ++size) {
      const distrib::ByteView view = distrib::ByteView{bytes}.subspan(start, size);
      if (!same_every_way(~0U, view, start % 8 == 0 ? ~by_definition(view) : bytewise(~0U, view)))
        FAIL("start " << start << ", size " << size);
    }
}

TEST_CASE("crc32c: all variants compute the same bits at lengths up to 1 MiB, from any state", "[core][crc32c]") {
  const std::vector<std::byte> bytes = noise((1 << 20) + 64);
  std::uint32_t state = 0x12345678;
  for (std::size_t size = 600; size <= 1 << 20; size += 1 + size / 7) {
    const distrib::ByteView view = distrib::ByteView{bytes}.subspan(size % 64, size);
    if (!same_every_way(state, view, bytewise(state, view))) FAIL("state " << state << ", size " << size);
    state = state * 1664525 + 1013904223;
  }
  for (std::size_t size = 600; size < 10'000; size += 1 + size % 7) {
    const distrib::ByteView view = distrib::ByteView{bytes}.subspan(size % 3, size);
    if (!same_every_way(0, view, bytewise(0, view))) FAIL("size " << size);
  }
}

TEST_CASE("crc32c: reads nothing outside the bytes", "[core][crc32c]") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory = ::mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const middle = static_cast<std::byte*>(memory) + page;  // the pages around it cannot be read
  REQUIRE(::mprotect(middle, page, PROT_READ | PROT_WRITE) == 0);
  const std::vector<std::byte> bytes = noise(page);
  std::copy(bytes.begin(), bytes.end(), middle);
  for (std::size_t size = 0; size <= page; size += size <= 600 ? 1 : 5)
    for (const std::byte* const at : {middle, middle + page - size}) {
      const distrib::ByteView view{at, size};
      if (!same_every_way(~0U, view, bytewise(~0U, view))) FAIL("size " << size);
    }
  ::munmap(memory, 3 * page);
}

TEST_CASE("crc32c_extend: pieces add up to the whole", "[core][crc32c]") {
  const std::vector<std::byte> bytes = noise(100);
  const distrib::ByteView whole{bytes};
  for (std::size_t cut = 0; cut <= whole.size(); ++cut)
    CHECK(distrib::detail::crc32c_extend(distrib::crc32c(whole.first(cut)), whole.subspan(cut)) ==
          distrib::crc32c(whole));
}

TEST_CASE("mask_crc: rotation and constant, and back", "[core][crc32c]") {
  static_assert(distrib::mask_crc(0) == 0xA282EAD8);
  static_assert(distrib::mask_crc(0xE3069283) == 0xC78AB0E5);
  for (const std::uint32_t crc : {0U, 1U, 0xE3069283U, 0xFFFFFFFFU, 0x80000000U}) {
    CHECK(distrib::mask_crc(crc) != crc);
    CHECK(distrib::unmask_crc(distrib::mask_crc(crc)) == crc);
  }
}
