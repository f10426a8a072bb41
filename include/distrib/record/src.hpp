// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of record/, to be compiled in one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/record/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/record/detail/impl/replace_file.ipp>
#include <distrib/record/impl/codec.ipp>
#include <distrib/record/impl/dali_index.ipp>
#include <distrib/record/impl/error.ipp>
#include <distrib/record/impl/gzip_members.ipp>
#include <distrib/record/impl/index_file.ipp>
#include <distrib/record/impl/mapped_file.ipp>
#include <distrib/record/impl/record_index.ipp>
#include <distrib/record/impl/record_writer.ipp>
#include <distrib/record/impl/resync.ipp>
#include <distrib/record/impl/split_reader.ipp>
#include <distrib/record/impl/splits.ipp>
#include <distrib/record/impl/zlib.ipp>
