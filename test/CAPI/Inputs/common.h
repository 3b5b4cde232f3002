/* What the C programs of these tests share. */

#ifndef FA_TEST_CAPI_COMMON_H
#define FA_TEST_CAPI_COMMON_H

#include "fa-c/Compiler.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the test where a call that must succeed fails. */
#define EXPECT_SUCCESS(call)                                                   \
  do {                                                                         \
    FaStatus status_ = (call);                                                 \
    if (status_ != FA_SUCCESS) {                                               \
      printf("line %d: status %d: %s\n", __LINE__, (int)status_,               \
             faGetErrorMessage());                                             \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/* Prints what a call that must fail says. */
#define EXPECT_FAILURE(call)                                                   \
  do {                                                                         \
    FaStatus status_ = (call);                                                 \
    printf("%d: %s\n", (int)status_,                                           \
           status_ == FA_SUCCESS ? "no error" : faGetErrorMessage());          \
  } while (0)

/* A dense tensor in row-major order. */
static FaArgument makeTensor(void *data, int32_t type, int32_t rank,
                             const int64_t *shape) {
  FaArgument argument;
  int64_t stride = 1;
  int32_t i;
  memset(&argument, 0, sizeof(argument));
  argument.value.data = data;
  argument.type = type;
  argument.rank = rank;
  for (i = rank - 1; i >= 0; --i) {
    argument.shape[i] = shape[i];
    argument.strides[i] = stride;
    stride *= shape[i];
  }
  return argument;
}

#endif
