//===- PythonABI.h - Functions of Python's stable C interface ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What calls from Python use of it, by name, in the process that runs: so
// neither building nor loading needs a Python. All are of the limited API of
// 3.10, which later versions keep.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TORCH_PYTHONABI_H
#define FA_LIB_TORCH_PYTHONABI_H

#include <cstddef>
#include <cstdint>

namespace fa::torch {

/// PyObject *.
using Object = void *;

/// PyMethodDef.
struct MethodDefinition {
  const char *name;
  Object (*function)(Object self, Object const *arguments, ptrdiff_t count);
  int flags;
  const char *documentation;
};
/// METH_FASTCALL.
inline constexpr int fastCall = 0x80;
/// METH_NOARGS.
inline constexpr int takesNothing = 0x4;
/// PyCFunction.
using CFunction = Object (*)(Object self, Object arguments);

// Name of the member, result, name in Python, parameters.
#define FA_PYTHON_FUNCTIONS(X)                                                 \
  X(addReference, void, Py_IncRef, (Object))                                   \
  X(dropReference, void, Py_DecRef, (Object))                                  \
  X(getType, Object, PyObject_Type, (Object))                                  \
  X(getAttribute, Object, PyObject_GetAttrString, (Object, const char *))      \
  X(getAttributeOf, Object, PyObject_GetAttr, (Object, Object))                \
  X(intern, Object, PyUnicode_InternFromString, (const char *))                \
  X(isTrue, int, PyObject_IsTrue, (Object))                                    \
  X(callWithout, Object, PyObject_CallNoArgs, (Object))                        \
  X(callWith, Object, PyObject_CallFunctionObjArgs, (Object, ...))             \
  X(getItem, Object, PyTuple_GetItem, (Object, ptrdiff_t))                     \
  X(makePair, Object, PyTuple_Pack, (ptrdiff_t, ...))                          \
  X(makeInteger, Object, PyLong_FromLongLong, (long long))                     \
  X(clearError, void, PyErr_Clear, ())                                         \
  X(isError, int, PyErr_ExceptionMatches, (Object))                            \
  X(makeCapsule, Object, PyCapsule_New, (void *, const char *, void *))        \
  X(getPointer, void *, PyCapsule_GetPointer, (Object, const char *))          \
  X(makeFunction, Object, PyCFunction_NewEx,                                   \
    (MethodDefinition *, Object, Object))                                      \
  X(getFlags, int, PyCFunction_GetFlags, (Object))                             \
  X(getFunction, CFunction, PyCFunction_GetFunction, (Object))                 \
  X(getSelf, Object, PyCFunction_GetSelf, (Object))                            \
  X(releaseLock, void *, PyEval_SaveThread, ())                                \
  X(takeLock, void, PyEval_RestoreThread, (void *))

struct PythonABI {
#define X(member, result, name, parameters) result(*member) parameters;
  FA_PYTHON_FUNCTIONS(X)
#undef X

  /// Finds the functions. False where the process has no Python of 3.10.
  bool open();
};

} // namespace fa::torch

#endif // FA_LIB_TORCH_PYTHONABI_H
