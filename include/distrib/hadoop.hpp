// SPDX-License-Identifier: Apache-2.0
// Hadoop and Spark: MapReduce tasks, rows and directories of Spark. Not part of ecosystem.hpp.
#pragma once

#include <distrib/hadoop/spark_decoder.hpp>
#include <distrib/hadoop/spark_directory.hpp>
#include <distrib/hadoop/spark_encoder.hpp>
#include <distrib/hadoop/spark_error.hpp>
#include <distrib/hadoop/spark_infer_schema.hpp>
#include <distrib/hadoop/spark_partitions.hpp>
#include <distrib/hadoop/spark_reader.hpp>
#include <distrib/hadoop/spark_schema.hpp>
#include <distrib/hadoop/spark_type.hpp>
#include <distrib/hadoop/spark_write_job.hpp>
#include <distrib/hadoop/spark_writer.hpp>
