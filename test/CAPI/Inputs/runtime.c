/* Launches one kernel through the C API: runtime DRIVER MANIFEST ADDRESS. */

#include "fa-c/Runtime.h"
#include <stdio.h>
#include <stdlib.h>

static FaArgument makeVector(uint64_t address, int64_t size) {
  FaArgument argument = {{NULL}, FA_TYPE_F32, 1,  FA_DEVICE_OF_POINTER,
                         0,      {0},         {0}};
  argument.value.data = (void *)(uintptr_t)address;
  argument.shape[0] = size;
  argument.strides[0] = 1;
  return argument;
}

int main(int argc, char **argv) {
  FaRuntime runtime = NULL;
  FaKernel kernel = NULL;
  FaArgument arguments[3];
  uint64_t address;
  size_t bytes = 1;
  int i;
  if (argc != 4)
    return 2;
  address = strtoull(argv[3], NULL, 0);

  if (faRuntimeCreate("nowhere.so", &runtime) != FA_NO_DRIVER)
    return 1;
  printf("%s\n", faRuntimeGetErrorMessage());

  if (faRuntimeCreate(argv[1], &runtime) != FA_SUCCESS ||
      faKernelLoad(runtime, argv[2], &kernel) != FA_SUCCESS) {
    fprintf(stderr, "%s\n", faRuntimeGetErrorMessage());
    return 1;
  }
  arguments[0] = makeVector(address, 100);
  arguments[1] = makeVector(address + 4096, 100);
  arguments[2].value.real = 0.5;
  arguments[2].type = FA_TYPE_F64;
  arguments[2].rank = FA_SCALAR;
  for (i = 0; i != 3; ++i) {
    /* Wrong, right, wrong. */
    arguments[1].shape[0] = i == 1 ? 100 : 99;
    printf("status %d\n", (int)faKernelLaunch(kernel, arguments, 3, NULL));
  }
  printf("%s\n", faRuntimeGetErrorMessage());
  if (faRuntimeGetWorkspaceSize(runtime, 0, &bytes) != FA_SUCCESS)
    return 1;
  printf("workspace %d of at most %d\n", (int)bytes, (int)FA_WORKSPACE_LIMIT);
  faKernelDestroy(kernel);
  faRuntimeDestroy(runtime);
  return 0;
}
