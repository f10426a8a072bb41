// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/record/frame.hpp>

#include <cstdint>
#include <vector>

namespace fuzz {

/// Makes the bytes of a record file from a script, because random bytes have no valid checksums. A script is a series
/// of steps: an operation, a length below 256, and as many bytes.
class MadeFile {
 public:
  explicit MadeFile(distrib::ByteView script) {
    constexpr std::size_t most = 1 << 16;  // each nesting doubles the file
    while (script.size() >= 2 && bytes_.size() < most) {
      const auto operation = static_cast<unsigned>(script[0]);
      const std::size_t length = std::min(static_cast<std::size_t>(script[1]), script.size() - 2);
      perform(operation, script.subspan(2, length));
      script = script.subspan(2 + length);
    }
  }

  [[nodiscard]] auto bytes() const -> distrib::ByteView { return bytes_; }

 private:
  void perform(unsigned operation, distrib::ByteView argument) {
    switch (operation % 8) {
      case 0: return add(argument);  // the bytes as they are
      case 1:  // a header that announces any length
        return add(distrib::encode_record_header(number(argument)));
      case 2:  // a damaged payload
        record(argument);
        bytes_.back() ^= std::byte{1};
        return;
      case 3: return record(bytes_);  // all bytes so far, as one payload after them
      case 4:  // cut off at the end
        return bytes_.resize(bytes_.size() - std::min<std::size_t>(bytes_.size(), number(argument)));
      case 5:  // one byte changed
        if (!bytes_.empty()) bytes_[number(argument) % bytes_.size()] ^= std::byte{0x10};
        return;
      default: return record(argument);
    }
  }

  static auto number(distrib::ByteView argument) -> std::uint64_t {
    std::uint64_t value = 0;
    for (const std::byte byte : argument.first(std::min<std::size_t>(argument.size(), 8)))
      value = value << 8 | static_cast<std::uint64_t>(byte);
    return value;
  }

  void record(distrib::ByteView payload) {
    const std::vector<std::byte> copy{payload.begin(), payload.end()};  // `payload` may lie in `bytes_`
    add(distrib::encode_record_header(copy.size()));
    add(copy);
    add(distrib::encode_record_footer(copy));
  }

  void add(distrib::ByteView more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }

  std::vector<std::byte> bytes_;
};

}  // namespace fuzz
