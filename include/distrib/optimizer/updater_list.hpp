// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/adamw.hpp>
#include <distrib/optimizer/amsgrad.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/averaged_updater.hpp>
#include <distrib/optimizer/centered_rmsprop.hpp>
#include <distrib/optimizer/ftrl.hpp>
#include <distrib/optimizer/lazy_adam.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/rmsprop.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/optimizer/torch_adagrad.hpp>
#include <distrib/optimizer/torch_adam.hpp>
#include <distrib/optimizer/torch_rmsprop.hpp>
#include <distrib/optimizer/updater.hpp>

#include <optional>
#include <string_view>
#include <type_traits>

namespace distrib {
inline namespace v0 {

namespace detail {
template <class U, class Other>
inline constexpr bool names_clash =
    std::string_view{U::name} == std::string_view{Other::name} && !std::is_same_v<U, Other>;
template <class U, class... Others> inline constexpr bool name_is_taken = (names_clash<U, Others> || ...);
template <class U>
inline constexpr bool name_is_word =
    !std::string_view{U::name}.empty() && std::string_view{U::name}.find_first_of(" \n") == std::string_view::npos;

/// The updaters that a parameter server has; a job names one of them. All is known at compile time; the list itself is
/// an empty value. One type may occur twice in it; two types with the same name do not compile.
template <Updater... Us> class UpdaterList {
  static_assert((detail::name_is_word<Us> && ...), "distrib: the name of an Updater must be one word");
  static_assert(!(detail::name_is_taken<Us, Us...> || ...),
                "distrib: two updaters of one UpdaterList have the same name; give yours another name");

 public:
  /// Returns the updater that `text` ("NAME HYPER-PARAMETERS", as in `Job::updater`) describes. Empty: no updater of
  /// the list describes itself with exactly this text, or the updater that does cannot be trained with
  /// (`check_updater`). Also knows each of them with a moving average, see `averaged`.
  [[nodiscard]] auto operator()(std::string_view text) const -> std::optional<AnyUpdater> {
    return find_averaged(text, [](std::string_view plain) {
      std::optional<AnyUpdater> found;
      static_cast<void>((find_one<Us>(plain, found) || ...));
      return found;
    });
  }

 private:
  template <class U> static auto find_one(std::string_view text, std::optional<AnyUpdater>& found) -> bool {
    if (const auto updater = detail::parse_updater<U>(text)) found = *updater;
    return found.has_value();
  }
};

}  // namespace detail

/// The updaters of this library.
using StandardUpdaters = detail::UpdaterList<Sgd, Momentum, Adagrad, RMSProp, CenteredRMSProp, Adam, AMSGrad, LazyAdam,
                                             AdamW, Ftrl, TorchAdam, TorchAdagrad, TorchRMSProp>;

namespace detail {
template <class Last> struct UpdatersBefore;
template <Updater... Last> struct UpdatersBefore<UpdaterList<Last...>> {
  template <Updater... Us> using List = UpdaterList<Us..., Last...>;
};
}  // namespace detail

/// The user's own updaters, then the library's: `updaters<MyUpdater>`.
template <Updater... Us>
inline constexpr typename detail::UpdatersBefore<StandardUpdaters>::template List<Us...> updaters{};

#ifndef DISTRIB_HEADER_ONLY  // in impl/updater_list.ipp
namespace detail {
extern template class UpdaterModel<Sgd>;
extern template class UpdaterModel<Momentum>;
extern template class UpdaterModel<Adagrad>;
extern template class UpdaterModel<RMSProp>;
extern template class UpdaterModel<CenteredRMSProp>;
extern template class UpdaterModel<Adam>;
extern template class UpdaterModel<AMSGrad>;
extern template class UpdaterModel<LazyAdam>;
extern template class UpdaterModel<AdamW>;
extern template class UpdaterModel<Ftrl>;
extern template class UpdaterModel<TorchAdam>;
extern template class UpdaterModel<TorchAdagrad>;
extern template class UpdaterModel<TorchRMSProp>;
}  // namespace detail
#endif

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/optimizer/impl/updater_list.ipp>
#endif
