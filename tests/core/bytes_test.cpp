// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/bytes.hpp>

#include "support/catch.hpp"

#include <array>
#include <type_traits>

using distrib::AlignedBuffer;

TEST_CASE("as_bytes, as_text: refer to the same memory, with any bytes", "[core]") {
  const std::string_view text{"a\0\xff", 3};
  const distrib::ByteView bytes = distrib::as_bytes(text);
  REQUIRE(bytes.size() == 3);
  CHECK(bytes[2] == std::byte{0xff});
  CHECK(distrib::as_text(bytes) == text);
  CHECK(static_cast<const void*>(distrib::as_text(bytes).data()) == text.data());
  CHECK(distrib::as_text({}).empty());
}

TEST_CASE("load_le, store_le: little-endian at any alignment", "[core]") {
  std::array<std::byte, 17> memory{};
  distrib::store_le<std::uint32_t>(memory.data() + 1, 0x04030201);
  CHECK(memory[1] == std::byte{1});
  CHECK(memory[4] == std::byte{4});
  CHECK(distrib::load_le<std::uint32_t>(memory.data() + 1) == 0x04030201);
  CHECK(distrib::load_le<std::uint16_t>(memory.data() + 2) == 0x0302);
  distrib::store_le(memory.data() + 9, -2.5);
  CHECK(distrib::load_le<double>(memory.data() + 9) == -2.5);
}

TEST_CASE("aligned_size: the next multiple of 64", "[core]") {
  STATIC_REQUIRE(distrib::detail::tensor_alignment == 64);
  CHECK(distrib::detail::aligned_size(0) == 0);
  CHECK(distrib::detail::aligned_size(1) == 64);
  CHECK(distrib::detail::aligned_size(64) == 64);
  CHECK(distrib::detail::aligned_size(65) == 128);
}

TEST_CASE("AlignedBuffer: aligned, zeroed, movable, not copyable", "[core]") {
  STATIC_REQUIRE(!std::is_copy_constructible_v<AlignedBuffer>);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<AlignedBuffer>);
  for (const std::size_t size : {1U, 63U, 64U, 1000U}) {
    AlignedBuffer buffer{size};
    CHECK(buffer.size() == size);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % distrib::detail::tensor_alignment == 0);
    for (const std::byte b : buffer.bytes()) CHECK(b == std::byte{0});
    CHECK(buffer.as<float>().size() == size / sizeof(float));
    const std::byte* data = buffer.data();
    const AlignedBuffer moved = std::move(buffer);
    CHECK(moved.data() == data);
    CHECK(std::as_const(moved).as<float>().size() == size / sizeof(float));
  }
}

TEST_CASE("AlignedBuffer: an empty buffer has no memory", "[core]") {
  for (const AlignedBuffer& buffer : {AlignedBuffer{}, AlignedBuffer{0}}) {
    CHECK(buffer.data() == nullptr);
    CHECK(buffer.bytes().empty());
    CHECK(buffer.as<float>().empty());
  }
}

TEST_CASE("AlignedBuffer: a moved-from buffer is empty and can be used again", "[core]") {
  AlignedBuffer first{100};
  AlignedBuffer second = std::move(first);
  AlignedBuffer third{40};
  third = std::move(second);
  CHECK(third.size() == 100);
  for (AlignedBuffer* const moved_from : {&first, &second}) {
    CHECK(moved_from->data() == nullptr);
    CHECK(moved_from->size() == 0);
    moved_from->resize(50);  // within the capacity that the buffer had before
    REQUIRE(moved_from->data() != nullptr);
    CHECK(moved_from->size() == 50);
  }
  AlignedBuffer& itself = third;
  third = std::move(itself);
  CHECK(third.size() == 100);
  CHECK(third.data() != nullptr);
}

TEST_CASE("AlignedBuffer: what is written through as() is read through data()", "[core]") {
  AlignedBuffer buffer{8};
  buffer.as<float>()[1] = 1.0F;
  CHECK(distrib::load_le<float>(buffer.data() + 4) == 1.0F);
}

TEST_CASE("bytes_of: a value's bytes as they lie in memory", "[core]") {
  const std::uint32_t number = 0x04030201;
  const distrib::ByteView bytes = distrib::detail::bytes_of(number);
  REQUIRE(bytes.size() == 4);
  CHECK(bytes.data() == reinterpret_cast<const std::byte*>(&number));
  CHECK(distrib::as_text(bytes) == "\x01\x02\x03\x04");
}

TEST_CASE("AlignedBuffer: a large buffer begins at a page; a buffer within other memory does not free it", "[core]") {
  const auto misplaced = [](const AlignedBuffer& buffer, std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment;
  };
  for (const std::size_t size : {1U, 32'767U}) CHECK(misplaced(AlignedBuffer{size}, 64) == 0);
  for (const std::size_t size : {32'768U, 100'001U, 5'000'000U}) CHECK(misplaced(AlignedBuffer{size}, 4096) == 0);

  AlignedBuffer owner{10'000};
  {
    AlignedBuffer lent = AlignedBuffer::within(owner.bytes().first(5'000));
    CHECK(lent.data() == owner.data());
    CHECK(lent.size() == 5'000);
    lent.data()[4'999] = std::byte{7};
    AlignedBuffer moved = std::move(lent);
    moved.resize(100);
    CHECK(moved.data() == owner.data());
    moved.resize(5'001);  // more than the lent memory: gets memory of its own
    CHECK(moved.data() != owner.data());
    CHECK(moved.bytes().back() == std::byte{0});
  }
  CHECK(owner.data()[4'999] == std::byte{7});
}

TEST_CASE("AlignedBuffer: buffers of nearly one size take one size of memory", "[core]") {
  using distrib::detail::rounded_size;
  static_assert(rounded_size(0) == 0);
  static_assert(rounded_size(1023) == 1023);
  static_assert(rounded_size(1024) == 1024);
  static_assert(rounded_size(1025) == 1152);
  static_assert(rounded_size(36'000) == 36'864);
  static_assert(rounded_size(36'864) == 36'864);
  static_assert(rounded_size(65'535) == 65'536);
  for (std::size_t size = 1024; size < 300'000; size += 997) {
    CHECK(rounded_size(size) >= size);
    CHECK(rounded_size(size) - size < size / 8 + 1);
  }
}
