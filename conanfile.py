# SPDX-License-Identifier: Apache-2.0
"""distrib for Conan 2: `conan create .`, or `conan editable add .` to work on it beside a project that uses it.

The package has our own CMake config, which looks for its libraries itself. So they may come from Conan, or from the
system: name them in the profile's [platform_requires]."""

import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.scm import Version
from conan.errors import ConanInvalidConfiguration


class Distrib(ConanFile):
    name = "distrib"
    license = "Apache-2.0"
    description = "Distributed training in C++20: parameter servers, records, checkpoints, put together at compile time"
    topics = ("machine-learning", "distributed-training", "parameter-server", "tfrecord", "rpc", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"message": [True, False], "isal": [True, False], "tls": [True, False], "http": [True, False],
               "kafka": [True, False]}
    default_options = {"message": True, "isal": False, "tls": False, "http": False, "kafka": False}
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*"
    no_copy_source = True
    test_package_folder = "packaging/conan/test_package"

    def set_version(self):
        header = load(self, f"{self.recipe_folder}/include/distrib/version.hpp")
        self.version = re.search(r'version_text = "([\d.]+)"', header)[1]

    def layout(self):
        cmake_layout(self)
        self.cpp.source.builddirs = ["packaging/conan/editable"]  # an editable package has not been installed

    def requirements(self):
        self.requires("asio/[>=1.22 <2]", transitive_headers=True)
        self.requires("xtensor/[>=0.24.3 <1]", transitive_headers=True)
        self.requires("zlib/[>=1.2.11 <2]", transitive_headers=True, transitive_libs=True)
        if self.options.message:
            self.requires("protobuf/[>=3.21.12 <8]", transitive_headers=True, transitive_libs=True)
        if self.options.isal:
            self.requires("isa-l/[>=2.30 <3]", transitive_headers=True, transitive_libs=True)
        if self.options.tls:
            self.requires("openssl/[>=3 <5]", transitive_headers=True, transitive_libs=True)
        if self.options.http:
            self.requires("cpp-httplib/[>=0.11.4 <1]", transitive_headers=True, transitive_libs=True)
        if self.options.kafka:
            self.requires("librdkafka/[>=2.0 <3]", transitive_headers=True, transitive_libs=True)

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)
        oldest = {"gcc": 12, "clang": 19}.get(str(self.settings.compiler))
        if oldest and Version(self.settings.compiler.version) < oldest:
            raise ConanInvalidConfiguration(f"distrib needs {self.settings.compiler} {oldest} or newer")

    def generate(self):
        CMakeToolchain(self).generate()

    def build(self):
        """Nothing is compiled; `package` installs, for which no library has to be there."""

    def package(self):
        cmake = CMake(self)
        cmake.configure(variables={"DISTRIB_COMPONENTS": "core", "DISTRIB_INSTALL": "ON",
                                   **{f"DISTRIB_BUILD_{part}": "OFF" for part in
                                      ("TESTS", "EXAMPLES", "BENCHMARKS", "TOOLS", "DOCS")}})
        cmake.install()
        copy(self, "LICENSE", self.source_folder, f"{self.package_folder}/licenses")

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/distrib"]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
