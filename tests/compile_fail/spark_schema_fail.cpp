// error: a schema of Spark takes spark_column
// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_schema.hpp>

struct Click {
  std::int64_t user;
};
struct Other {
  std::int64_t user;
};

#ifndef DISTRIB_COMPILE_FAIL
const auto clicks = distrib::spark_schema<Click>(distrib::spark_column("user", &Click::user));
#else
const auto clicks = distrib::spark_schema<Click>(distrib::spark_column("user", &Other::user));
#endif
