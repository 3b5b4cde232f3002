/* Calls compiled attention: docs/Embedding.md builds and runs it. */

#include <stdint.h>
#include <stdio.h>

/* A memref of rank 4. Strides and the offset are in elements. */
typedef struct {
  float *allocated, *aligned;
  int64_t offset, sizes[4], strides[4];
} Array;

void _mlir_ciface_attention(Array *query, Array *key, Array *value,
                            Array *output);

static Array makeArray(float *data, int64_t length) {
  return (Array){data, data, 0, {1, length, 2, 16}, {length * 32, 32, 16, 1}};
}

int main(void) {
  static float query[5 * 32], key[9 * 32], value[9 * 32], output[5 * 32];
  for (int i = 0; i < 9 * 32; ++i)
    value[i] = i / 32;
  Array q = makeArray(query, 5), k = makeArray(key, 9), v = makeArray(value, 9),
        o = makeArray(output, 5);
  _mlir_ciface_attention(&q, &k, &v, &o);
  printf("the mean of 0 to 8 is %g\n", output[0]);
}
