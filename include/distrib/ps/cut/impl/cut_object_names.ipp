// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/cut_object_names.hpp>

#include <charconv>
#include <cstddef>
#include <limits>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::size_t step_digits = 20;
inline constexpr std::size_t shard_digits = 5;
inline constexpr std::size_t count_digits = 10;
inline constexpr std::size_t nonce_digits = 16;  // hexadecimal
inline constexpr std::size_t replica_digits = 1;

DISTRIB_DECL auto fixed_number(std::uint64_t value, std::size_t digits, int base) -> std::string {
  char text[24];
  const char* const end = std::to_chars(text, text + sizeof text, value, base).ptr;
  const auto size = static_cast<std::size_t>(end - text);
  return std::string(digits > size ? digits - size : 0, '0').append(text, size);
}

DISTRIB_DECL auto claim_text(const ObjectClaim& claim) -> std::string {
  return fixed_number(claim.epoch, count_digits, 10) + '-' + fixed_number(claim.nonce, nonce_digits, 16);
}

DISTRIB_DECL auto shard_text(std::uint32_t shard, std::uint32_t replica) -> std::string {
  return fixed_number(shard, shard_digits, 10) + (replica == 0 ? "" : "-r" + fixed_number(replica, replica_digits, 10));
}

// Reads a name from its beginning. After the first part that is not there, nothing is.
class NameReader {
 public:
  explicit NameReader(std::string_view name) : rest_{name} {}

  auto text(std::string_view expected) -> NameReader& {
    ok_ = ok_ && rest_.starts_with(expected);
    if (ok_) rest_.remove_prefix(expected.size());
    return *this;
  }
  template <class T> auto number(T& value, std::size_t digits, int base = 10) -> NameReader& {
    std::uint64_t read = 0;
    ok_ = ok_ && rest_.size() >= digits;
    if (!ok_) return *this;
    const char* const end = rest_.data() + digits;
    for (const char c : rest_.substr(0, digits))
      ok_ = ok_ && ((c >= '0' && c <= '9') || (base == 16 && c >= 'a' && c <= 'f'));
    const auto [at, ec] = std::from_chars(rest_.data(), end, read, base);
    ok_ = ok_ && at == end && ec == std::errc{} && read <= std::numeric_limits<T>::max();
    value = static_cast<T>(read);
    rest_.remove_prefix(digits);
    return *this;
  }
  auto claim(ObjectClaim& value) -> NameReader& {
    return number(value.epoch, count_digits).text("-").number(value.nonce, nonce_digits, 16);
  }
  auto replica(std::uint32_t& value) -> NameReader& {
    value = 0;
    if (!ok_ || !rest_.starts_with("-r")) return *this;
    text("-r").number(value, replica_digits);
    ok_ = ok_ && value != 0;  // the first one has no number
    return *this;
  }
  // Reads what the name of a link has after its number.
  auto root(std::uint32_t of_number, std::uint32_t& links) -> NameReader& {
    if (!ok_ || rest_.empty()) return *this;
    std::uint32_t first = 0;
    text("-").number(first, count_digits);
    ok_ = ok_ && first != 0 && first < of_number;
    links = of_number - first;
    return *this;
  }
  [[nodiscard]] auto ended() const -> bool { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace detail

DISTRIB_DECL CutObjectNames::CutObjectNames(std::string directory) : root_{std::move(directory)} {
  while (root_.ends_with('/')) root_.pop_back();
  if (!root_.empty()) root_ += '/';
}

DISTRIB_DECL auto CutObjectNames::claims(std::uint32_t shard, std::uint32_t replica) const -> std::string {
  return root_ + "claims/" + detail::shard_text(shard, replica) + '/';
}
DISTRIB_DECL auto CutObjectNames::bases(std::uint32_t shard) const -> std::string {
  return root_ + "bases/" + detail::fixed_number(shard, detail::shard_digits, 10) + '/';
}
DISTRIB_DECL auto CutObjectNames::cuts_of(Step step) const -> std::string {
  return cuts() + detail::fixed_number(step, detail::step_digits, 10) + '/';
}

DISTRIB_DECL auto CutObjectNames::claim(std::uint32_t shard, const ObjectClaim& claim, std::uint32_t replica) const
    -> std::string {
  return claims(shard, replica) + detail::claim_text(claim);
}
DISTRIB_DECL auto CutObjectNames::base(std::uint32_t shard, const ObjectClaim& claim) const -> std::string {
  return bases(shard) + detail::claim_text(claim);
}
DISTRIB_DECL auto CutObjectNames::cut(const CutKey& key) const -> std::string {
  return cuts_of(key.step) + detail::shard_text(key.shard, key.replica) + "-of-" +
         detail::fixed_number(key.shards, detail::shard_digits, 10) + '.' + detail::claim_text(key.claim) + '.' +
         detail::fixed_number(key.number, detail::count_digits, 10) +
         (key.is_whole() ? "" : '-' + detail::fixed_number(key.root(), detail::count_digits, 10));
}
DISTRIB_DECL auto CutObjectNames::checkpoint(const CheckpointKey& key) const -> std::string {
  return checkpoints() + detail::fixed_number(key.step, detail::step_digits, 10) + '.' +
         detail::fixed_number(key.hash, detail::nonce_digits, 16) + ".index";
}
DISTRIB_DECL auto CutObjectNames::rank_log(const RankLogKey& key) const -> std::string {
  return rank_logs() + detail::fixed_number(key.shard, detail::shard_digits, 10) + "-of-" +
         detail::fixed_number(key.shards, detail::shard_digits, 10) + '.' + detail::claim_text(key.claim) + '.' +
         detail::fixed_number(key.number, detail::count_digits, 10);
}
DISTRIB_DECL auto CutObjectNames::preserved(Step step) const -> std::string {
  return all_preserved() + detail::fixed_number(step, detail::step_digits, 10);
}

DISTRIB_DECL auto CutObjectNames::claim_of(std::string_view name, std::uint32_t shard, std::uint32_t replica) const
    -> std::optional<ObjectClaim> {
  ObjectClaim claim;
  if (!detail::NameReader{name}.text(claims(shard, replica)).claim(claim).ended()) return std::nullopt;
  return claim;
}
DISTRIB_DECL auto CutObjectNames::base_of(std::string_view name, std::uint32_t shard) const
    -> std::optional<ObjectClaim> {
  ObjectClaim claim;
  if (!detail::NameReader{name}.text(bases(shard)).claim(claim).ended()) return std::nullopt;
  return claim;
}
DISTRIB_DECL auto CutObjectNames::cut_of(std::string_view name) const -> std::optional<CutKey> {
  CutKey key;
  detail::NameReader reader{name};
  reader.text(cuts()).number(key.step, detail::step_digits).text("/").number(key.shard, detail::shard_digits);
  reader.replica(key.replica)
      .text("-of-")
      .number(key.shards, detail::shard_digits)
      .text(".")
      .claim(key.claim)
      .text(".");
  reader.number(key.number, detail::count_digits).root(key.number, key.links);
  if (!reader.ended() || key.shard >= key.shards) return std::nullopt;
  return key;
}
DISTRIB_DECL auto CutObjectNames::checkpoint_of(std::string_view name) const -> std::optional<CheckpointKey> {
  CheckpointKey key;
  detail::NameReader reader{name};
  reader.text(checkpoints()).number(key.step, detail::step_digits).text(".");
  if (!reader.number(key.hash, detail::nonce_digits, 16).text(".index").ended()) return std::nullopt;
  return key;
}
DISTRIB_DECL auto CutObjectNames::rank_log_of(std::string_view name) const -> std::optional<RankLogKey> {
  RankLogKey key;
  detail::NameReader reader{name};
  reader.text(rank_logs()).number(key.shard, detail::shard_digits).text("-of-");
  reader.number(key.shards, detail::shard_digits).text(".").claim(key.claim).text(".");
  if (!reader.number(key.number, detail::count_digits).ended() || key.shard >= key.shards) return std::nullopt;
  return key;
}
DISTRIB_DECL auto CutObjectNames::preserved_of(std::string_view name) const -> std::optional<Step> {
  Step step = 0;
  if (!detail::NameReader{name}.text(all_preserved()).number(step, detail::step_digits).ended()) return std::nullopt;
  return step;
}

}  // namespace v0
}  // namespace distrib
