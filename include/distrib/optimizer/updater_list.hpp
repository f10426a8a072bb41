// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/detail/shortest_text.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/optimizer/updater.hpp>

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace distrib::inline v0 {

namespace detail {
template <class U, class Other>
inline constexpr bool names_clash = std::string_view{U::name} == std::string_view{Other::name} &&
                                    !std::is_same_v<U, Other>;
template <class U, class... Others>
inline constexpr bool name_is_taken = (names_clash<U, Others> || ...);
template <class U>
inline constexpr bool name_is_word = !std::string_view{U::name}.empty() &&
                                     std::string_view{U::name}.find_first_of(" \n") == std::string_view::npos;
}  // namespace detail

/// The updaters that a parameter server has, one of which a job names. All is known at compile time; the list itself is
/// an empty value. One type may stand in it twice, but two types of one name do not compile.
template <Updater... Us>
class UpdaterList {
  static_assert((detail::name_is_word<Us> && ...), "distrib: the name of an Updater must be one word");
  static_assert(!(detail::name_is_taken<Us, Us...> || ...),
                "distrib: two updaters of one UpdaterList have the same name; give yours another one");

 public:
  /// Calls `f(updater)`, a value, for the updater that `text` describes, "NAME HYPER-PARAMETERS" as `Job::updater` has
  /// it. False, and f is not called: no updater of the list describes itself with exactly this text.
  template <class F>
  [[nodiscard]] auto visit(std::string_view text, F&& f) const -> bool {
    return (visit_one<Us>(text, f) || ...);
  }

 private:
  template <class U, class F>
  static auto visit_one(std::string_view text, F& f) -> bool {
    if (detail::cut_before(text, ' ') != std::string_view{U::name}) return false;
    std::optional<U> updater = U::parse(text);
    // A parse that forgets a field would train with other numbers than the job says.
    if (!updater || updater->describe() != text) return false;
    f(*std::move(updater));
    return true;
  }
};

/// The updaters of this library.
using StandardUpdaters = UpdaterList<Sgd, Momentum, Adam>;

/// Updaters of one's own and then those of this library: `updaters<MyUpdater>`.
template <Updater... Us>
inline constexpr UpdaterList<Us..., Sgd, Momentum, Adam> updaters{};

}  // namespace distrib::inline v0
