"""Loads a plugin into this program, which has no MLIR, as a host would.

    python3 load.py PLUGIN
"""

import ctypes
import sys


class Info(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("name", ctypes.c_char_p),
                ("llvm", ctypes.c_char_p), ("register", ctypes.c_void_p)]


plugin = ctypes.CDLL(sys.argv[1])
for entry in ("mlirGetDialectPluginInfo", "mlirGetPassPluginInfo"):
    function = getattr(plugin, entry)
    function.restype = Info
    print(f"{entry}: version {function().version}", flush=True)
