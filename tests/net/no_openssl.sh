#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenSSL is in no symbol of the compiled library, nor of a program that does not link distrib::tls. ctest calls it in
# build/PRESET/tests.
set -uo pipefail
library=../libdistrib_compiled.a examples=../examples failures=0
fail() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }
[ -e "$library" ] && [ -x "$examples/09_train" ] || { echo 'the library or the examples are not built'; exit 77; }

# Prints the symbols that come from OpenSSL, or from the parts of this library that use it.
of_openssl() {  # FILE
  nm --demangle "$1" 2>/dev/null | grep -E ' ((SSL|X509|EVP|BIO|ERR|PEM|ASN1|CRYPTO|OPENSSL|GENERAL_NAME|TLS)_[A-Za-z0-9_]+(@.*)?|distrib::v0::(Tls|detail::Tls).*)$'
}

looked=0
for file in "$library" "$examples"/[0-9][0-9]_*; do
  name=${file##*/}
  [ -f "$file" ] && [ -x "$file" ] || [ "$file" = "$library" ] || continue
  case $name in *_tls | *_http | 37_stream) continue ;; esac  # these link OpenSSL, or a library that is built with it
  looked=$((looked + 1))
  found=$(of_openssl "$file" | sed 4,\$d)
  [ -z "$found" ] || fail "$name has $found"
  needed=$(readelf --dynamic "$file" 2>/dev/null | grep -E 'NEEDED.*lib(ssl|crypto)')
  [ -z "$needed" ] || fail "$name needs $needed"
done
[ $looked -gt 20 ] || fail "only $looked files"
if [ -x "$examples/14_tls" ]; then  # what is looked for can be found
  found=$(of_openssl "$examples/14_tls")
  [[ $found == *SSL_CTX_new* && $found == *distrib::v0::Tls* ]] || fail 'nothing is found in the example with TLS'
fi
[ $failures -eq 0 ] && echo "$looked files: all passed"
exit $((failures > 0))
