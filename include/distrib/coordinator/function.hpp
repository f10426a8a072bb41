// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/coordinator/function_context.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/frame.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// The result and the parameters after the context of a function's operator(); empty without such an operator.
template <class Signature> struct FunctionSignature {
  static constexpr bool is_known = false;
};
template <class F, class R, class... Ps> struct FunctionSignature<R (F::*)(FunctionContext&, Ps...) const> {
  static constexpr bool is_known = true;
  using Result = R;
  using Parameters = std::tuple<Ps...>;
};
template <class F, class R, class... Ps>
struct FunctionSignature<R (F::*)(FunctionContext&, Ps...) const noexcept>
    : FunctionSignature<R (F::*)(FunctionContext&, Ps...) const> {};

template <class F> auto signature_of() {
  if constexpr (requires { &F::operator(); }) return FunctionSignature<decltype(&F::operator())>{};
  else return FunctionSignature<void>{};
}
template <class F> using SignatureOf = decltype(signature_of<F>());
template <class F> using ResultOf = typename SignatureOf<F>::Result;
template <class F> using ParametersOf = typename SignatureOf<F>::Parameters;

/// True for `T&`: a parameter that is a per-worker value. All others travel.
template <class P>
inline constexpr bool is_resource = std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>;

/// True for a vector of numbers, enumerations, or structs of them without padding, which travels as its elements lie in
/// memory.
template <class T> inline constexpr bool is_plain_vector = false;
template <PlainValue T>
inline constexpr bool is_plain_vector<std::vector<T>> = !std::is_same_v<T, bool> && !std::is_same_v<T, std::byte>;

/// A type that can travel as an argument or result.
template <class T>
concept Sendable = RpcMessage<T> || is_plain_vector<T>;

template <class P> constexpr auto can_be_passed() -> bool {
  if constexpr (is_resource<P>) return true;
  else return Sendable<std::remove_cvref_t<P>>;
}
template <class> inline constexpr bool can_all_be_passed = false;
template <class... Ps> inline constexpr bool can_all_be_passed<std::tuple<Ps...>> = (can_be_passed<Ps>() && ...);

template <class R> constexpr auto can_be_returned() -> bool {
  if constexpr (std::is_void_v<R>) return true;
  else return Sendable<R>;
}

template <class F>
concept NamedFunction = std::default_initializable<F> && requires {
  { F::name } -> std::convertible_to<std::string_view>;
};
template <class F>
concept FunctionWithContext = SignatureOf<F>::is_known;

}  // namespace detail

/// A function that a coordinator may run on its workers: a type with
/// - `static constexpr std::string_view name = "train_step";`, by which it is known on the wire;
/// - one `auto operator()(FunctionContext&, parameters...) const -> Result`, not a template.
///
/// A parameter `T&` is a per-worker value, which another function has made on the worker (`create_per_worker`). All
/// other
/// parameters and the result travel: numbers, enumerations, structs of them without padding, `std::vector` of these,
/// `std::string`, and every other type with an `RpcCodec`. The result may be void. It is called for one closure at a
/// time in each worker process, may run more than once for one closure, and may be interrupted anywhere by the end of
/// its process. An exception becomes
/// the error of the closure: a `std::system_error` with its code, any other as `coordinator_errc::function_failed`.
template <class F>
concept RemoteFunction =
    detail::NamedFunction<F> && detail::FunctionWithContext<F> && detail::can_all_be_passed<detail::ParametersOf<F>>;

namespace detail {

template <class F> constexpr auto check_function() -> bool {
  constexpr bool is_named = NamedFunction<F>;  // a bool, because the compiler would explain the concept
  static_assert(is_named,
                "distrib: FunctionList<F>: F needs a default constructor and a name: "
                "static constexpr std::string_view name = \"train_step\";");
  constexpr bool takes_context = FunctionWithContext<F>;
  static_assert(takes_context,
                "distrib: FunctionList<F>: F needs one operator()(distrib::FunctionContext&, parameters...) const "
                "that is not a template");
  if constexpr (takes_context)
    static_assert(can_all_be_passed<ParametersOf<F>>,
                  "distrib: FunctionList<F>: a parameter of F cannot be sent; give its type void encode(WireWriter&) "
                  "const and bool decode(ByteView) or, if it is a struct without pointers, write template <> struct "
                  "distrib::RpcCodec<It> : distrib::PlainCodec<It> {}; or take it by T& as a per-worker value");
  return true;
}

}  // namespace detail

/// The functions that a coordinator may run on its workers. Coordinator and workers need the same list, usually because
/// they are the same program. Two functions with the same name, or with names of the same hash, do not compile.
template <class... Fs> class FunctionList {
  static_assert((detail::check_function<Fs>() && ...));

 public:
  /// True if the list has `F`.
  template <class F> static constexpr bool contains = (std::same_as<F, Fs> || ...);

  /// Returns a digest of all names, by which coordinator and workers compare their lists.
  [[nodiscard]] static auto digest() -> std::string {
    Sha256 hash;
    (hash.update(as_bytes(std::string{Fs::name} + '\n')), ...);
    return to_hex(hash.finish());
  }

 private:
  static constexpr auto unique() -> bool {
    if constexpr ((detail::NamedFunction<Fs> && ...)) {
      constexpr std::array<std::uint32_t, sizeof...(Fs)> ids{method_id(Fs::name)...};
      for (std::size_t i = 0; i < ids.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
          if (ids[i] == ids[j]) return false;
    }
    return true;
  }
  static_assert(unique(), "distrib: two functions of a FunctionList have the same name, or names with the same hash");
};

}  // namespace v0
}  // namespace distrib
