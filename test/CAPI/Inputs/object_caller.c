/* Calls what object.c compiled. */

#include <stdint.h>
#include <stdio.h>

typedef struct Vector {
  float *allocated, *aligned;
  int64_t offset, size, stride;
} Vector;

void _mlir_ciface_total(Vector *a, Vector *total);

int main(void) {
  float numbers[64], sum[1] = {-1};
  Vector a = {numbers, numbers, 0, 64, 1}, total = {sum, sum, 0, 1, 1};
  int i;
  for (i = 0; i != 64; ++i)
    numbers[i] = (float)i;
  _mlir_ciface_total(&a, &total);
  printf("sum %g\n", sum[0]);
  return 0;
}
