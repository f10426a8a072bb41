// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of checkpoint/, to be compiled in one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/checkpoint/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/checkpoint/detail/impl/bundle_entry.ipp>
#include <distrib/checkpoint/detail/impl/input_file.ipp>
#include <distrib/checkpoint/detail/impl/text_form.ipp>
#include <distrib/checkpoint/impl/bundle_index.ipp>
#include <distrib/checkpoint/impl/bundle_reader.ipp>
#include <distrib/checkpoint/impl/bundle_writer.ipp>
#include <distrib/checkpoint/impl/crc32.ipp>
#include <distrib/checkpoint/impl/directories.ipp>
#include <distrib/checkpoint/impl/file_names.ipp>
#include <distrib/checkpoint/impl/keep_newest.ipp>
#include <distrib/checkpoint/impl/latest_checkpoint.ipp>
#include <distrib/checkpoint/impl/merge_parts.ipp>
#include <distrib/checkpoint/impl/object_names.ipp>
#include <distrib/checkpoint/impl/ordered_code.ipp>
#include <distrib/checkpoint/impl/part_writer.ipp>
#include <distrib/checkpoint/impl/perform.ipp>
#include <distrib/checkpoint/impl/piece_stream.ipp>
#include <distrib/checkpoint/impl/save.ipp>
#include <distrib/checkpoint/impl/snappy.ipp>
#include <distrib/checkpoint/impl/state_file.ipp>
#include <distrib/checkpoint/impl/stored_tensor.ipp>
#include <distrib/checkpoint/impl/string_tensor.ipp>
#include <distrib/checkpoint/impl/table_reader.ipp>
#include <distrib/checkpoint/impl/table_writer.ipp>
#include <distrib/checkpoint/impl/variant_sum.ipp>
