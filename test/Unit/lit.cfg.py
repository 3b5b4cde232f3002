"""Runs the GoogleTest programs of unittests/ as one lit suite."""

import os

import lit.formats

config.name = "FA-Unit"
config.suffixes = []
config.test_source_root = os.path.join(config.fa_build_root, "unittests")
config.test_exec_root = config.test_source_root
config.test_format = lit.formats.GoogleTest(".", "Tests")
if config.fa_sanitizer:
    config.environment["ASAN_OPTIONS"] = "allow_user_poisoning=0:detect_leaks=1"
