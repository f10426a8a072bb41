// SPDX-License-Identifier: Apache-2.0
// Rows and directories of Spark. Not part of ecosystem.hpp.
#pragma once

#include <distrib/spark/spark_decoder.hpp>
#include <distrib/spark/spark_directory.hpp>
#include <distrib/spark/spark_encoder.hpp>
#include <distrib/spark/spark_error.hpp>
#include <distrib/spark/spark_infer_schema.hpp>
#include <distrib/spark/spark_reader.hpp>
#include <distrib/spark/spark_schema.hpp>
#include <distrib/spark/spark_type.hpp>
#include <distrib/spark/spark_write_job.hpp>
#include <distrib/spark/spark_writer.hpp>
