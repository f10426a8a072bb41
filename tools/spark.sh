# SPDX-License-Identifier: Apache-2.0
# Sourced after tools/setup.sh by the scripts that need Spark. Defines
#   ensure_spark   installs into a cache directory: Spark from PyPI, TensorFlow's formats for Hadoop and its connector
#                  for Spark from Maven Central. Sets $spark_python (a Python with pyspark), $spark_jars (directory of
#                  the formats' jars) and $spark_connector (class path of the connector and of the older Spark that it
#                  needs)

ensure_spark() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/spark
  local packages=('pyspark==3.5.*' 'protobuf==4.21.*')  # protobuf: the version of Debian's protoc
  local made="${packages[*]} tensorflow-hadoop connector"
  spark_python=$venv/bin/python spark_jars=$venv/jars
  if [ "$(cat "$venv/installed" 2>/dev/null)" != "$made" ]; then
    phase "create a Python environment" python3 -m venv --clear "$venv" &&
      phase "install ${packages[*]}" "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" &&
      phase "fetch tensorflow-hadoop" mvn -q -B -f tests/interop/spark/formats.xml dependency:copy-dependencies \
        -DoutputDirectory="$spark_jars" &&
      phase "fetch spark-tensorflow-connector" mvn -q -B -f tests/interop/spark/connector.xml dependency:copy-dependencies \
        -DoutputDirectory="$venv/connector" &&
      echo "$made" >"$venv/installed" || return
  fi
  spark_connector=$venv/connector/*
}
