# SPDX-License-Identifier: Apache-2.0
# Sourced after tools/setup.sh by the scripts that need Spark. Gives
#   ensure_spark   Spark from PyPI and TensorFlow's formats for Hadoop from Maven Central in a cache directory; Python
#                  that has pyspark is $spark_python, the jars are $spark_jars

ensure_spark() {
  local venv=${XDG_CACHE_HOME:-$HOME/.cache}/distrib/spark
  local packages=('pyspark==3.5.*' 'protobuf==4.21.*')  # protobuf: of Debian's protoc
  spark_python=$venv/bin/python spark_jars=$venv/jars
  [ "$(cat "$venv/installed" 2>/dev/null)" != "${packages[*]} tensorflow-hadoop" ] || return 0
  phase "create a Python environment" python3 -m venv --clear "$venv" &&
    phase "install ${packages[*]}" "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" &&
    phase "fetch tensorflow-hadoop" mvn -q -B -f tests/interop/spark/pom.xml dependency:copy-dependencies \
      -DoutputDirectory="$spark_jars" &&
    echo "${packages[*]} tensorflow-hadoop" >"$venv/installed"
}
