/* Prints sizes, offsets and numbers of fa-c/Compiler.h and fa-c/Runtime.h. */

#include "fa-c/Compiler.h"
#include <stddef.h>
#include <stdio.h>

#define TYPE(type) printf(#type " %d bytes\n", (int)sizeof(type))
#define FIELD(type, field)                                                     \
  printf(#type "." #field " at %d, %d bytes\n", (int)offsetof(type, field),    \
         (int)sizeof(((type *)0)->field))
#define NUMBER(name) printf(#name " %d\n", (int)(name))

int main(void) {
  TYPE(FaArgument);
  FIELD(FaArgument, value);
  FIELD(FaArgument, type);
  FIELD(FaArgument, rank);
  FIELD(FaArgument, device);
  FIELD(FaArgument, flags);
  FIELD(FaArgument, shape);
  FIELD(FaArgument, strides);
  TYPE(FaDiagnostic);
  FIELD(FaDiagnostic, severity);
  FIELD(FaDiagnostic, outcome);
  FIELD(FaDiagnostic, line);
  FIELD(FaDiagnostic, column);
  FIELD(FaDiagnostic, file);
  FIELD(FaDiagnostic, pass);
  FIELD(FaDiagnostic, name);
  FIELD(FaDiagnostic, message);
  TYPE(FaTensorType);
  FIELD(FaTensorType, type);
  FIELD(FaTensorType, rank);
  FIELD(FaTensorType, shape);
  FIELD(FaTensorType, dims);
  TYPE(FaCapture);
  FIELD(FaCapture, name);
  FIELD(FaCapture, type);
  TYPE(FaProblem);
  FIELD(FaProblem, size);
  FIELD(FaProblem, name);
  FIELD(FaProblem, query);
  FIELD(FaProblem, key);
  FIELD(FaProblem, value);
  FIELD(FaProblem, output_type);
  FIELD(FaProblem, output_dims);
  FIELD(FaProblem, returns_lse);
  FIELD(FaProblem, has_scale);
  FIELD(FaProblem, has_query_lengths);
  FIELD(FaProblem, has_key_lengths);
  FIELD(FaProblem, score);
  FIELD(FaProblem, mask);
  FIELD(FaProblem, captures);
  FIELD(FaProblem, capture_count);
  TYPE(FaCPUOptions);
  FIELD(FaCPUOptions, size);
  FIELD(FaCPUOptions, optimization_level);
  FIELD(FaCPUOptions, cpu);
  FIELD(FaCPUOptions, features);
  TYPE(FaKernelOptions);
  FIELD(FaKernelOptions, size);
  FIELD(FaKernelOptions, chip);
  FIELD(FaKernelOptions, images);
  FIELD(FaKernelOptions, no_peepholes);
  FIELD(FaKernelOptions, fail_on_spill);
  NUMBER(FA_SUCCESS);
  NUMBER(FA_NO_DRIVER);
  NUMBER(FA_DRIVER_TOO_OLD);
  NUMBER(FA_WRONG_ARCHITECTURE);
  NUMBER(FA_INVALID_MANIFEST);
  NUMBER(FA_INVALID_IMAGE);
  NUMBER(FA_INVALID_ARGUMENT);
  NUMBER(FA_OUT_OF_MEMORY);
  NUMBER(FA_LAUNCH_LIMIT);
  NUMBER(FA_DRIVER_ERROR);
  NUMBER(FA_NOT_TAKEN);
  NUMBER(FA_INVALID_MODULE);
  NUMBER(FA_INVALID_PIPELINE);
  NUMBER(FA_COMPILATION_FAILED);
  NUMBER(FA_TYPE_F16);
  NUMBER(FA_TYPE_BF16);
  NUMBER(FA_TYPE_F32);
  NUMBER(FA_TYPE_F64);
  NUMBER(FA_TYPE_I8);
  NUMBER(FA_TYPE_I32);
  NUMBER(FA_TYPE_I64);
  NUMBER(FA_TYPE_F8E4M3FN);
  NUMBER(FA_TYPE_F8E5M2);
  NUMBER(FA_TYPE_I1);
  NUMBER(FA_MAX_RANK);
  NUMBER(FA_SCALAR);
  NUMBER(FA_DEVICE_OF_POINTER);
  NUMBER(FA_READ_ONLY);
  NUMBER(FA_WORKSPACE_LIMIT);
  NUMBER(FA_ALLOW_UNREGISTERED);
  NUMBER(FA_SEVERITY_ERROR);
  NUMBER(FA_SEVERITY_WARNING);
  NUMBER(FA_SEVERITY_NOTE);
  NUMBER(FA_SEVERITY_REMARK);
  NUMBER(FA_OUTCOME_NONE);
  NUMBER(FA_OUTCOME_PASSED);
  NUMBER(FA_OUTCOME_MISSED);
  NUMBER(FA_OUTCOME_FAILED);
  NUMBER(FA_OUTCOME_ANALYSIS);
  NUMBER(FA_FORM_TEXT);
  NUMBER(FA_FORM_GENERIC);
  NUMBER(FA_FORM_BYTECODE);
  NUMBER(FA_IMAGES_AUTO);
  NUMBER(FA_IMAGES_PTX);
  NUMBER(FA_IMAGES_BOTH);
  return 0;
}
