// error: a column of Spark can fill bool, std::int32_t, std::int64_t
// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_schema.hpp>

struct Click {
#ifndef DISTRIB_COMPILE_FAIL
  std::int64_t user;
#else
  std::uint64_t user;
#endif
};

const auto clicks = distrib::spark_schema<Click>(distrib::spark_column("user", &Click::user));
