// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/formats/file_layout.hpp>
#include <distrib/checkpoint/formats/named_tensor.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/io_action.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Lays out one file of `torch.save`. `checksums`: the CRC-32 of each tensor's bytes. On failure `error` names the
/// tensor, as `check_tensors`.
[[nodiscard]] DISTRIB_DECL auto lay_out_torch_file(const std::string& path, std::span<const NamedTensor> tensors,
                                                   std::span<const std::uint32_t> checksums, Error& error)
    -> FileLayout;

}  // namespace detail

/// Plans how `tensors` are written as a file of PyTorch, a dict of tensors as `torch.save(module.state_dict(), path)`
/// writes it; `torch.load(path, weights_only=True)` reads it. It is written under a hidden name, made durable, and then
/// gets its name. Performs no I/O; reads all bytes once, for their checksums. The bytes are not copied: they must stay
/// valid until the plan was performed.
///
/// On failure the plan is empty and `to` names the tensor: `mismatch` (a name, a type, or a number of bytes),
/// `duplicate`.
[[nodiscard]] DISTRIB_DECL auto plan_torch_file(const std::string& path, std::span<const NamedTensor> tensors,
                                                ErrorRef to) -> FilePlan;

/// Writes `tensors` as `plan_torch_file` plans it, into a directory that exists. Blocks. Errors: `mismatch` or
/// `duplicate` as there, `no_room`, `cannot_write`; a file that existed before then still does.
DISTRIB_DECL void save_torch_file(const std::string& path, std::span<const NamedTensor> tensors, ErrorRef to);

/// This overload throws the error as `std::system_error` that names the file or the tensor.
inline void save_torch_file(const std::string& path, std::span<const NamedTensor> tensors) {
  Error error;
  save_torch_file(path, tensors, error);
  throw_if(error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/formats/impl/torch_writer.ipp>
#endif
