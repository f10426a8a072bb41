// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of spark/, compiled once: for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/spark/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/spark/detail/impl/utf8_names.ipp>
#include <distrib/spark/impl/spark_decoder.ipp>
#include <distrib/spark/impl/spark_directory.ipp>
#include <distrib/spark/impl/spark_infer_schema.ipp>
#include <distrib/spark/impl/spark_partitions.ipp>
#include <distrib/spark/impl/spark_type.ipp>
#include <distrib/spark/impl/spark_write_job.ipp>
#include <distrib/spark/impl/spark_writer.ipp>
