/* Compiles gradients of attention by the C API, calls them on memory and
   compares with the definition in double precision (`compare`); then compiles
   the kernels that compute them. Read `main`. */

#include "common.h"

enum { N = 5, M = 7, H = 4, KVH = 2, D = 8 };

static float query[N * H * D], key[M * KVH * D], value[M * KVH * D],
    output[N * H * D], lse[H * N], outputGradient[N * H * D],
    queryGradient[N * H * D], keyGradient[M * KVH * D],
    valueGradient[M * KVH * D];

static const char text[] =
    "!q = memref<?x?x4x8xf32>\n"
    "!k = memref<?x?x2x8xf32>\n"
    "func.func @gradient(%query: !q, %key: !k, %value: !k, %output: !q,\n"
    "    %lse: memref<?x4x?xf32>, %output_gradient: !q,\n"
    "    %query_gradient: !q, %key_gradient: !k, %value_gradient: !k) {\n"
    "  fa.attention_gradient ins(%query, %key, %value : !q, !k, !k)\n"
    "      of(%output, %lse : !q, memref<?x4x?xf32>)\n"
    "      gradients(%output_gradient : !q)\n"
    "      outs(query = %query_gradient : !q, key = %key_gradient : !k,\n"
    "           value = %value_gradient : !k)\n"
    "  return\n"
    "}\n";

/* From -1 to 1, the same for one seed. */
static void fillRandom(float *data, size_t count, unsigned seed) {
  size_t i;
  for (i = 0; i != count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
  }
}

static double dot(const float *a, const float *b) {
  double sum = 0;
  int d;
  for (d = 0; d != D; ++d)
    sum += (double)a[d] * b[d];
  return sum;
}

static double weights[H][N][M];

/* Weights of all pairs, and the output and the log-sum-exp that they give. */
static void computeForward(double scale) {
  int h, i, j, d;
  for (h = 0; h != H; ++h)
    for (i = 0; i != N; ++i) {
      double sum = 0;
      for (j = 0; j != M; ++j) {
        weights[h][i][j] = exp(
            scale * dot(query + (i * H + h) * D, key + (j * KVH + h / 2) * D));
        sum += weights[h][i][j];
      }
      lse[h * N + i] = (float)log(sum);
      for (d = 0; d != D; ++d) {
        double element = 0;
        for (j = 0; j != M; ++j)
          element += weights[h][i][j] * value[(j * KVH + h / 2) * D + d];
        output[(i * H + h) * D + d] = (float)(element / sum);
      }
      for (j = 0; j != M; ++j)
        weights[h][i][j] /= sum;
    }
}

/* The largest difference between what was computed and the definition. */
static double compare(double scale) {
  static double ofQuery[N * H * D], ofKey[M * KVH * D], ofValue[M * KVH * D];
  double worst = 0;
  int h, i, j, d;
  memset(ofQuery, 0, sizeof(ofQuery));
  memset(ofKey, 0, sizeof(ofKey));
  memset(ofValue, 0, sizeof(ofValue));
  for (h = 0; h != H; ++h)
    for (i = 0; i != N; ++i)
      for (j = 0; j != M; ++j) {
        int row = (i * H + h) * D, column = (j * KVH + h / 2) * D;
        double p = weights[h][i][j];
        double ds = p * (dot(outputGradient + row, value + column) -
                         dot(outputGradient + row, output + row));
        for (d = 0; d != D; ++d) {
          ofQuery[row + d] += scale * ds * key[column + d];
          ofKey[column + d] += scale * ds * query[row + d];
          ofValue[column + d] += p * outputGradient[row + d];
        }
      }
  for (i = 0; i != N * H * D; ++i)
    worst = fmax(worst, fabs(ofQuery[i] - queryGradient[i]));
  for (i = 0; i != M * KVH * D; ++i)
    worst = fmax(worst, fmax(fabs(ofKey[i] - keyGradient[i]),
                             fabs(ofValue[i] - valueGradient[i])));
  return worst;
}

static void call(FaFunction function) {
  FaArgument arguments[9];
  int64_t ofQueries[4] = {1, N, H, D}, ofKeys[4] = {1, M, KVH, D},
          ofRows[3] = {1, H, N};
  float *data[] = {query,         key,         value,
                   output,        lse,         outputGradient,
                   queryGradient, keyGradient, valueGradient};
  int i;
  for (i = 0; i != 9; ++i) {
    int isOfKeys = i == 1 || i == 2 || i >= 7;
    arguments[i] = i == 4 ? makeTensor(lse, FA_TYPE_F32, 3, ofRows)
                          : makeTensor(data[i], FA_TYPE_F32, 4,
                                       isOfKeys ? ofKeys : ofQueries);
    if (i < 6)
      arguments[i].flags = FA_READ_ONLY;
  }
  EXPECT_SUCCESS(faFunctionCall(function, arguments, 9));
}

static void expectNames(const char *manifest) {
  static const char *names[] = {
      "query",          "key",          "value",
      "output",         "lse",          "output_gradient",
      "query_gradient", "key_gradient", "value_gradient"};
  char quoted[64];
  size_t i, found = 0;
  for (i = 0; i != sizeof(names) / sizeof(*names); ++i) {
    sprintf(quoted, "\"name\": \"%s\"", names[i]);
    found += strstr(manifest, quoted) != NULL;
  }
  printf("arguments: %d of 9 names\n", (int)found);
}

int main(void) {
  FaContext context = NULL;
  FaModule module = NULL;
  FaFunction function = NULL;
  FaBytes manifest = NULL, ptx = NULL, cubin = NULL;
  FaKernelOptions options;
  const double scale = 1 / sqrt((double)D);

  fillRandom(query, N * H * D, 1);
  fillRandom(key, M * KVH * D, 2);
  fillRandom(value, M * KVH * D, 3);
  fillRandom(outputGradient, N * H * D, 4);
  computeForward(scale);
  memset(queryGradient, 0xff, sizeof(queryGradient));
  memset(keyGradient, 0xff, sizeof(keyGradient));
  memset(valueGradient, 0xff, sizeof(valueGradient));

  EXPECT_SUCCESS(faContextCreate(0, &context));
  EXPECT_SUCCESS(
      faModuleCreateFromText(context, text, sizeof(text) - 1, NULL, &module));
  EXPECT_SUCCESS(faModuleCompileFunction(module, NULL, NULL, &function));
  printf("%s\n", faFunctionGetInterface(function));
  call(function);
  printf("gradients: %s\n", compare(scale) < 5e-6 ? "as defined" : "wrong");

  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.chip = "sm_90a";
  options.images = FA_IMAGES_PTX;
  EXPECT_SUCCESS(
      faModuleCompileKernel(module, NULL, &options, &manifest, &ptx, &cubin));
  expectNames(faBytesGetData(manifest));
  printf("launches ahead: %d, PTX %d\n",
         strstr(faBytesGetData(manifest), "\"before\"") != NULL,
         strstr(faBytesGetData(ptx), ".target sm_90a") != NULL);

  faFunctionDestroy(function);
  faModuleDestroy(module);
  faContextDestroy(context);
  faBytesDestroy(manifest);
  faBytesDestroy(ptx);
  return 0;
}
