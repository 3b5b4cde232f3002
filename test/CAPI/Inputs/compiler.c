/* Compiles attention by the C API, calls it on strided memory and compares with
   the definition in double precision (`compare`). Read `main`: one problem is
   compiled, called, saved, loaded and called again, then compiled to an object
   and to PTX, then taken through a pipeline and bytecode. `callAndCompare` is
   one call; `testRaising` stands alone. */

#include "common.h"

enum { B = 2, Q = 5, K = 9, H = 4, KVH = 2, D = 8 };

/* The query of batch item b, head h, row i starts at (b, h, i); heads are
   before the sequence, with a gap of one row between heads. */
#define AT(b, h, i, heads, rows)                                               \
  ((((b) * (heads) + (h)) * ((rows) + 1) + (i)) * D)

static float query[B * H * (Q + 1) * D], key[B * KVH * (K + 1) * D],
    value[B * KVH * (K + 1) * D], output[B * Q * H * D], lse[B * H * Q];

/* From -1 to 1, the same for one seed. */
static void fillRandom(float *data, size_t count, unsigned seed) {
  size_t i;
  for (i = 0; i != count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
  }
}

static double compare(double scale, double cap) {
  double worst = 0;
  int b, h, i, j, d;
  for (b = 0; b != B; ++b)
    for (h = 0; h != H; ++h)
      for (i = 0; i != Q; ++i) {
        const float *q = query + AT(b, h, i, H, Q);
        double sum = 0, expected[D] = {0};
        for (j = 0; j <= i + K - Q; ++j) {
          const float *k = key + AT(b, h / (H / KVH), j, KVH, K);
          const float *v = value + AT(b, h / (H / KVH), j, KVH, K);
          double score = 0, weight;
          for (d = 0; d != D; ++d)
            score += (double)q[d] * k[d];
          weight = exp(cap * tanh(score * scale / cap));
          sum += weight;
          for (d = 0; d != D; ++d)
            expected[d] += weight * v[d];
        }
        for (d = 0; d != D; ++d)
          worst = fmax(worst, fabs(expected[d] / sum -
                                   output[((b * Q + i) * H + h) * D + d]));
        worst = fmax(worst, fabs(log(sum) - lse[(b * H + h) * Q + i]));
      }
  return worst;
}

static FaArgument makeHeadsFirst(float *data, int64_t heads, int64_t rows) {
  int64_t shape[4], i;
  FaArgument argument;
  shape[0] = B, shape[1] = heads, shape[2] = rows, shape[3] = D;
  argument = makeTensor(data, FA_TYPE_F32, 4, shape);
  for (i = 0; i != 2; ++i)
    argument.strides[i] = (i == 0 ? heads : 1) * (rows + 1) * D;
  return argument;
}

static FaArgument makeNumber(double number) {
  FaArgument argument;
  memset(&argument, 0, sizeof(argument));
  argument.value.real = number;
  argument.type = FA_TYPE_F64;
  argument.rank = FA_SCALAR;
  return argument;
}

static FaTensorType makeType(int64_t heads) {
  FaTensorType type;
  memset(&type, 0, sizeof(type));
  type.type = FA_TYPE_F32;
  type.rank = 4;
  type.shape[0] = -1, type.shape[1] = heads, type.shape[2] = -1;
  type.shape[3] = D;
  type.dims = "bhsd";
  return type;
}

static FaModule makeProblem(FaContext context) {
  FaModule module = NULL;
  FaProblem problem;
  FaCapture capture;
  memset(&problem, 0, sizeof(problem));
  memset(&capture, 0, sizeof(capture));
  problem.size = sizeof(problem);
  problem.query = makeType(H);
  problem.key = problem.value = makeType(KVH);
  problem.output_type = FA_TYPE_F32;
  problem.returns_lse = 1;
  problem.has_scale = 1;
  problem.score = "softcap(%cap)";
  problem.mask = "causal";
  capture.name = "cap";
  capture.type.type = FA_TYPE_F32;
  capture.type.rank = FA_SCALAR;
  problem.captures = &capture;
  problem.capture_count = 1;
  EXPECT_SUCCESS(faModuleCreateFromProblem(context, &problem, &module));
  return module;
}

static void callAndCompare(const char *what, FaFunction function) {
  FaArgument arguments[7];
  int64_t shape[4], lseShape[3];
  shape[0] = B, shape[1] = Q, shape[2] = H, shape[3] = D;
  lseShape[0] = B, lseShape[1] = H, lseShape[2] = Q;
  memset(output, 0xff, sizeof(output));
  memset(lse, 0xff, sizeof(lse));
  arguments[0] = makeHeadsFirst(query, H, Q);
  arguments[1] = makeHeadsFirst(key, KVH, K);
  arguments[2] = makeHeadsFirst(value, KVH, K);
  arguments[0].flags = arguments[1].flags = arguments[2].flags = FA_READ_ONLY;
  arguments[3] = makeNumber(0.3);
  arguments[4] = makeNumber(2);
  arguments[5] = makeTensor(output, FA_TYPE_F32, 4, shape);
  arguments[6] = makeTensor(lse, FA_TYPE_F32, 3, lseShape);
  EXPECT_SUCCESS(faFunctionCall(function, arguments, 7));
  printf("%s: %s\n", what, compare(0.3, 2) < 2e-6 ? "as defined" : "wrong");
}

/* Of two attentions one keeps its scores, which another function would need. */
static void testRaising(FaContext context, const char *file) {
  static char text[1 << 16];
  FILE *stream = fopen(file, "r");
  size_t size = stream ? fread(text, 1, sizeof(text), stream) : 0;
  size_t raised = 0, refused = 0;
  FaModule module = NULL;
  if (!size)
    exit(1);
  fclose(stream);
  EXPECT_SUCCESS(faModuleCreateFromText(context, text, size, NULL, &module));
  EXPECT_SUCCESS(faModuleRaiseAttention(module, "masks=assume-visible", &raised,
                                        &refused));
  printf("raised %d, refused %d\n", (int)raised, (int)refused);
  faModuleDestroy(module);
}

int main(int argc, char **argv) {
  FaContext context = NULL;
  FaModule module;
  FaFunction function = NULL, loaded = NULL;
  FaBytes printed = NULL, saved = NULL, object = NULL;
  FaBytes manifest = NULL, ptx = NULL, cubin = NULL;
  FaKernelOptions options;
  FaDiagnostic diagnostic;
  size_t count = 0, i;

  if (argc != 2)
    return 2;
  printf("version %s, build id of %d digits, processor %d\n", faGetVersion(),
         (int)strlen(faGetBuildId()), strlen(faGetHostCPU()) > 0);
  fillRandom(query, sizeof(query) / 4, 1);
  fillRandom(key, sizeof(key) / 4, 2);
  fillRandom(value, sizeof(value) / 4, 3);

  EXPECT_SUCCESS(faContextCreate(0, &context));
  module = makeProblem(context);
  EXPECT_SUCCESS(faModulePrint(module, FA_FORM_TEXT, &printed));
  printf("%s", faBytesGetData(printed));
  faBytesDestroy(printed);
  EXPECT_SUCCESS(faModuleCompileFunction(module, NULL, NULL, &function));
  printf("%s\n", faFunctionGetInterface(function));
  callAndCompare("compiled", function);
  EXPECT_SUCCESS(faFunctionSave(function, &saved));
  EXPECT_SUCCESS(
      faFunctionLoad(faBytesGetData(saved), faBytesGetSize(saved), &loaded));
  faFunctionDestroy(function);
  callAndCompare("loaded", loaded);

  EXPECT_SUCCESS(faModuleCompileObject(module, NULL, &object));
  printf("object: %.3s\n", faBytesGetData(object) + 1);
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.chip = "sm_90a";
  options.images = FA_IMAGES_PTX;
  EXPECT_SUCCESS(
      faModuleCompileKernel(module, NULL, &options, &manifest, &ptx, &cubin));
  printf("manifest for %.6s, PTX %d, cubin %d\n",
         strstr(faBytesGetData(manifest), "sm_90a"),
         strstr(faBytesGetData(ptx), ".target sm_90a") != NULL, cubin != NULL);
  printf("names a capture: %d\n",
         strstr(faBytesGetData(manifest), "\"name\": \"cap\"") != NULL);

  /* A pipeline, and what its passes say. */
  EXPECT_SUCCESS(faModuleCountOperations(module, "fa.attention", &count));
  printf("%d attention\n", (int)count);
  EXPECT_SUCCESS(faModuleRunPipeline(module, "canonicalize, fa-to-level2"));
  EXPECT_SUCCESS(
      faModuleCountOperations(module, "fa.online_attention", &count));
  printf("%d step\n", (int)count);
  for (i = 0; i != faContextGetDiagnosticCount(context); ++i) {
    EXPECT_SUCCESS(faContextGetDiagnostic(context, i, &diagnostic));
    printf("%s:%d: %d %d %s %s: %s\n", diagnostic.file, (int)diagnostic.line,
           (int)diagnostic.severity, (int)diagnostic.outcome, diagnostic.pass,
           diagnostic.name, diagnostic.message);
  }
  EXPECT_SUCCESS(faContextCountRemarks(context, "fa-specialize-mask",
                                       FA_OUTCOME_PASSED, &count));
  printf("%d passed\n", (int)count);
  /* Bytecode goes and comes, at any level. */
  faFunctionDestroy(loaded);
  EXPECT_SUCCESS(faModulePrint(module, FA_FORM_BYTECODE, &printed));
  faModuleDestroy(module);
  EXPECT_SUCCESS(faModuleCreateFromText(context, faBytesGetData(printed),
                                        faBytesGetSize(printed), NULL,
                                        &module));
  faBytesDestroy(printed);
  EXPECT_SUCCESS(faModulePrint(module, FA_FORM_GENERIC, &printed));
  printf("generic: %d\n",
         strstr(faBytesGetData(printed), "\"fa.online_attention\"(") != NULL);
  EXPECT_SUCCESS(faModuleCompileFunction(module, "attention", NULL, &function));
  callAndCompare("level 2", function);

  faFunctionDestroy(function);
  faModuleDestroy(module);
  testRaising(context, argv[1]);
  faContextDestroy(context);
  faBytesDestroy(printed);
  faBytesDestroy(saved);
  faBytesDestroy(object);
  faBytesDestroy(manifest);
  faBytesDestroy(ptx);
  return 0;
}
