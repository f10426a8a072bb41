// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of core/, for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/core/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/core/detail/impl/control_group.ipp>
#include <distrib/core/impl/base64.ipp>
#include <distrib/core/impl/error.ipp>
#include <distrib/core/impl/file_descriptor.ipp>
#include <distrib/core/impl/files.ipp>
#include <distrib/core/impl/float_codec.ipp>
#include <distrib/core/impl/initializer.ipp>
#include <distrib/core/impl/int8_blocks.ipp>
#include <distrib/core/impl/json.ipp>
#include <distrib/core/impl/json_text.ipp>
#include <distrib/core/impl/md5.ipp>
#include <distrib/core/impl/nearest_names.ipp>
#include <distrib/core/impl/paths.ipp>
#include <distrib/core/impl/runtime_variables.ipp>
#include <distrib/core/impl/sha1.ipp>
#include <distrib/core/impl/sha256.ipp>
#include <distrib/core/impl/shape.ipp>
#include <distrib/core/impl/shortest_text.ipp>
#include <distrib/core/impl/slice.ipp>
#include <distrib/core/impl/table_info.ipp>
#include <distrib/core/impl/usable_cpus.ipp>
#include <distrib/core/impl/usable_memory.ipp>
#include <distrib/core/impl/utf8.ipp>
