import lit.formats

config.name = "two-tests"
config.test_format = lit.formats.ShTest()
config.suffixes = [".test"]
