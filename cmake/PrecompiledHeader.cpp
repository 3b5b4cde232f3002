// Compiles PrecompiledHeader.h once for all targets.
