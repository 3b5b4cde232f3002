/* One line for each thing that the C API refuses. `invalid KERNEL` takes a file
   with a kernel on which the back end gives up. It has one function for each
   kind, in the order of `main`: modules, compilations, descriptions of
   problems, calls, then `testFatalErrors` with KERNEL, and last a module of a
   destroyed context. A new refusal is one EXPECT_FAILURE more. */

#include "common.h"

/* What the back end holds when it gives up is lost, which is no leak of ours.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define LOSES_MEMORY(call) (__lsan_disable(), (call), __lsan_enable())
#endif
#endif
#ifndef LOSES_MEMORY
#define LOSES_MEMORY(call) (call)
#endif

static FaContext context;

static FaModule readText(const char *text) {
  FaModule module = NULL;
  EXPECT_SUCCESS(
      faModuleCreateFromText(context, text, strlen(text), "t.mlir", &module));
  return module;
}

static void refuseText(const char *text) {
  FaModule module = NULL;
  EXPECT_FAILURE(
      faModuleCreateFromText(context, text, strlen(text), "t.mlir", &module));
  if (module)
    exit(1);
}

static const char attention[] =
    "!t = tensor<?x?x4x8xf32>\n"
    "func.func @f(%q: !t, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>,\n"
    "             %n: tensor<?xi32>, %s: f32, %b: memref<4x4xf32>) -> !t {\n"
    "  %c0 = arith.constant 0 : index\n"
    "  memref.store %s, %b[%c0, %c0] : memref<4x4xf32>\n"
    "  %o = fa.attention ins(%q, %k, %v : !t, tensor<?x?x?x8xf32>,\n"
    "      tensor<?x?x?x8xf32>) outs(%q : !t) scale(%s)\n"
    "      key_lengths(%n : tensor<?xi32>)\n"
    "  return %o : !t\n"
    "}\n";

static void testModules(void) {
  static const char otherMLIR[] = "ML\xefR\x0d"
                                  "MLIR19.1.7\0",
                    cut[] = "ML\xefR\x0d"
                            "MLIR22.1.8\0";
  FaModule module = NULL;
  FaBytes bytes = NULL;
  FaDiagnostic diagnostic;
  size_t count = 7, size;
  char *deep;
  printf("-- contexts\n");
  EXPECT_FAILURE(faContextCreate(0, NULL));
  EXPECT_FAILURE(faContextCreate(6, &context));
  EXPECT_SUCCESS(faContextCreate(0, &context));
  EXPECT_FAILURE(faContextGetDiagnostic(context, 0, &diagnostic));
  EXPECT_FAILURE(faContextGetDiagnostic(NULL, 0, &diagnostic));
  EXPECT_FAILURE(faContextCountRemarks(context, NULL, 0, &count));

  printf("-- text\n");
  EXPECT_FAILURE(faModuleCreateFromText(NULL, "", 0, NULL, &module));
  EXPECT_FAILURE(faModuleCreateFromText(context, NULL, 0, NULL, &module));
  EXPECT_FAILURE(faModuleCreateFromText(context, "", 0, NULL, NULL));
  refuseText("func.func @f() {\n  return %x : i32\n}\n");
  refuseText("func.func @f() -> i32 {\n  return\n}\n");
  refuseText("\"other.op\"() : () -> ()\n");
  EXPECT_FAILURE(faModuleCreateFromText(context, otherMLIR, sizeof(otherMLIR),
                                        "b.mlirbc", &module));
  EXPECT_FAILURE(
      faModuleCreateFromText(context, cut, sizeof(cut), "b.mlirbc", &module));
  size = 200000;
  deep = malloc(size);
  memset(deep, '(', size);
  EXPECT_FAILURE(faModuleCreateFromText(context, deep, size, NULL, &module));
  free(deep);

  printf("-- pipelines\n");
  module = readText("func.func @f(%a: i32) -> i32 {\n  return %a : i32\n}\n");
  EXPECT_FAILURE(faModuleRunPipeline(NULL, "cse"));
  EXPECT_FAILURE(faModuleRunPipeline(module, NULL));
  EXPECT_FAILURE(faModuleRunPipeline(module, "fa-no-such-pass"));
  EXPECT_FAILURE(faModuleRunPipeline(module, "builtin.module(cse"));
  EXPECT_FAILURE(faModuleRunPipeline(module, "cse,,"));
  EXPECT_FAILURE(faModuleRunPipeline(module, "fa-to-schedule{chop=sm_80}"));
  EXPECT_FAILURE(faModuleRunPipeline(module, "fa-to-schedule{peepholes=no}"));
  EXPECT_FAILURE(faModuleRunPipeline(module, "canonicalize{max-iterations=x}"));
  EXPECT_FAILURE(faModuleRunPipeline(module, "fa-to-ptx{chip=sm_12}"));
  EXPECT_FAILURE(faModuleRaiseAttention(module, NULL, NULL, &count));
  EXPECT_FAILURE(faModuleRaiseAttention(module, "mask=x", &count, &count));
  EXPECT_SUCCESS(faModuleCountOperations(module, "func.func", &count));
  printf("%d function left\n", (int)count);
  EXPECT_FAILURE(faModulePrint(module, 3, &bytes));
  EXPECT_FAILURE(faModulePrint(module, FA_FORM_TEXT, NULL));
  EXPECT_FAILURE(faModuleCountOperations(module, NULL, &count));
  faModuleDestroy(module);
}

static void testCompilation(void) {
  FaModule module;
  FaFunction function = NULL;
  FaBytes bytes = NULL, manifest = NULL, ptx = NULL, cubin = NULL;
  FaCPUOptions options = {sizeof(FaCPUOptions), 4, NULL, NULL};
  FaKernelOptions kernel;
  char saved[] = "fa-mlir CPU function 1 00\n{}\n";
  memset(&kernel, 0, sizeof(kernel));
  printf("-- functions\n");
  module = readText("func.func private @f()\n");
  EXPECT_FAILURE(faModuleCompileFunction(module, NULL, NULL, &function));
  EXPECT_FAILURE(faModuleCompileFunction(NULL, NULL, NULL, &function));
  EXPECT_FAILURE(faModuleCompileFunction(module, NULL, NULL, NULL));
  faModuleDestroy(module);
  module = readText("func.func @f() {\n  return\n}\n"
                    "func.func @g(%a: i32) -> i32 {\n  return %a : i32\n}\n"
                    "func.func @h(%a: memref<i16>) {\n  return\n}\n"
                    "func.func @r(%a: memref<f32>) {\n  return\n}\n");
  EXPECT_FAILURE(faModuleCompileFunction(module, NULL, NULL, &function));
  EXPECT_FAILURE(faModuleCompileFunction(module, "e", NULL, &function));
  EXPECT_FAILURE(faModuleCompileFunction(module, "g", NULL, &function));
  EXPECT_FAILURE(faModuleCompileFunction(module, "h", NULL, &function));
  EXPECT_FAILURE(faModuleCompileFunction(module, "r", NULL, &function));
  EXPECT_FAILURE(faModuleCompileFunction(module, "f", &options, &function));
  options.optimization_level = 3;
  options.cpu = "x86-64";
  EXPECT_FAILURE(faModuleCompileFunction(module, "f", &options, &function));
  options.size = 8;
  EXPECT_FAILURE(faModuleCompileFunction(module, "f", &options, &function));
  EXPECT_FAILURE(faModuleCompileObject(module, &options, &bytes));
  options.size = sizeof(options);
  options.cpu = "pdp11";
  EXPECT_FAILURE(faModuleCompileObject(module, &options, &bytes));
  options.cpu = "x86-64";
  options.features = "+avx2,+avx3";
  EXPECT_FAILURE(faModuleCompileObject(module, &options, &bytes));
  EXPECT_FAILURE(faModuleCompileObject(module, NULL, NULL));
  EXPECT_FAILURE(faFunctionSave(NULL, &bytes));
  EXPECT_FAILURE(faFunctionLoad(NULL, 0, &function));
  EXPECT_FAILURE(faFunctionLoad("x", 1, &function));
  EXPECT_FAILURE(faFunctionLoad(saved, strlen(saved), &function));
  EXPECT_FAILURE(faFunctionCall(NULL, NULL, 0));

  printf("-- kernels\n");
#define KERNEL(entry)                                                          \
  EXPECT_FAILURE(                                                              \
      faModuleCompileKernel(module, entry, &kernel, &manifest, &ptx, &cubin))
  KERNEL(NULL);
  kernel.size = sizeof(kernel);
  kernel.images = FA_IMAGES_PTX;
  KERNEL(NULL);
  kernel.images = 5;
  KERNEL(NULL);
  kernel.images = FA_IMAGES_BOTH;
  KERNEL(NULL);
  kernel.images = FA_IMAGES_PTX;
  kernel.chip = "sm_12";
  KERNEL(NULL);
  kernel.chip = "sm_90a";
  EXPECT_FAILURE(
      faModuleCompileKernel(module, NULL, &kernel, NULL, &ptx, &cubin));
  faModuleDestroy(module);
}

static FaTensorType makeType(void) {
  FaTensorType type;
  memset(&type, 0, sizeof(type));
  type.type = FA_TYPE_F32;
  type.rank = 4;
  type.shape[0] = type.shape[1] = -1;
  type.shape[2] = 4;
  type.shape[3] = 8;
  return type;
}

static void testProblems(void) {
  FaModule module = NULL;
  FaProblem problem, good;
  FaCapture captures[2];
  memset(&good, 0, sizeof(good));
  memset(captures, 0, sizeof(captures));
  good.query = good.key = good.value = makeType();
  good.output_type = FA_TYPE_F32;
  captures[0].name = captures[1].name = "cap";
  captures[0].type.rank = captures[1].type.rank = FA_SCALAR;
  captures[0].type.type = captures[1].type.type = FA_TYPE_F32;
  printf("-- problems\n");
  EXPECT_FAILURE(faModuleCreateFromProblem(context, NULL, &module));
#define REFUSE(change)                                                         \
  problem = good;                                                              \
  change;                                                                      \
  EXPECT_FAILURE(faModuleCreateFromProblem(context, &problem, &module))
  REFUSE((void)0);
  good.size = sizeof(good);
  REFUSE(problem.name = "a b");
  REFUSE(problem.query.type = 44);
  REFUSE(problem.key.rank = 3);
  REFUSE(problem.value.rank = 9);
  REFUSE(problem.value.shape[1] = -2);
  REFUSE(problem.key.dims = "bssd");
  REFUSE(problem.output_dims = "bshx");
  REFUSE(problem.output_type = FA_TYPE_F16);
  REFUSE(problem.capture_count = 1);
  problem.captures = good.captures = captures;
  REFUSE(problem.capture_count = 2);
  captures[1].name = NULL;
  REFUSE(problem.capture_count = 2);
  captures[1].name = "query";
  REFUSE(problem.capture_count = 2);
  captures[1].name = "bias";
  captures[1].type.rank = 7;
  REFUSE(problem.capture_count = 2);
  /* What only the operation knows. */
  REFUSE(problem.mask = "causel");
  REFUSE(problem.key.shape[2] = problem.value.shape[2] = 3);
  REFUSE(problem.query.type = FA_TYPE_I32; problem.output_type = FA_TYPE_I32);
}

static void testCalls(void) {
  FaModule module = readText(attention);
  FaFunction function = NULL;
  FaArgument arguments[7], good[7];
  static float data[4096];
  int32_t lengths[2] = {5, 3};
  int64_t queries[4] = {2, 4, 4, 8}, keys[4] = {2, 5, 2, 8}, batch[1] = {2},
          table[2] = {4, 4};
  EXPECT_SUCCESS(faModuleCompileFunction(module, NULL, NULL, &function));
  memset(good, 0, sizeof(good));
  good[0] = makeTensor(data, FA_TYPE_F32, 4, queries);
  good[1] = makeTensor(data + 256, FA_TYPE_F32, 4, keys);
  good[2] = makeTensor(data + 512, FA_TYPE_F32, 4, keys);
  good[3] = makeTensor(lengths, FA_TYPE_I32, 1, batch);
  good[4].value.real = 0.5;
  good[4].type = FA_TYPE_F64;
  good[4].rank = FA_SCALAR;
  good[5] = makeTensor(data + 1024, FA_TYPE_F32, 2, table);
  good[6] = makeTensor(data + 2048, FA_TYPE_F32, 4, queries);
  EXPECT_SUCCESS(faFunctionCall(function, good, 7));
  printf("-- calls\n");
#define CALL(change)                                                           \
  memcpy(arguments, good, sizeof(good));                                       \
  change;                                                                      \
  EXPECT_FAILURE(faFunctionCall(function, arguments, 7))
  EXPECT_FAILURE(faFunctionCall(function, good, 6));
  EXPECT_FAILURE(faFunctionCall(function, NULL, 7));
  CALL(arguments[0].type = FA_TYPE_F16);
  CALL(arguments[0].type = 99);
  CALL(arguments[0].rank = 3);
  CALL(arguments[0].rank = FA_SCALAR);
  CALL(arguments[4] = good[5]);
  CALL(arguments[4].type = FA_TYPE_F32);
  CALL(arguments[0].shape[2] = 5);
  CALL(arguments[0].shape[1] = -4);
  CALL(arguments[1].shape[0] = 3);
  CALL(arguments[2].shape[1] = 4);
  CALL(arguments[6].shape[1] = 3);
  CALL(arguments[0].strides[3] = 2);
  CALL(arguments[0].strides[1] = -32);
  CALL(arguments[5].strides[0] = 8);
  CALL(arguments[0].value.data = NULL);
  CALL(arguments[0].value.data = (char *)data + 2);
  CALL(arguments[6].flags = FA_READ_ONLY);
  CALL(arguments[5].flags = FA_READ_ONLY);
  CALL(arguments[6].strides[1] = 0);
  CALL(arguments[1].shape[2] = arguments[2].shape[2] = 3);
  lengths[1] = 6;
  CALL((void)0);
  lengths[1] = -1;
  CALL((void)0);
  /* Nothing was kept from all that. */
  lengths[1] = 0;
  EXPECT_SUCCESS(faFunctionCall(function, good, 7));
  faFunctionDestroy(function);
  faModuleDestroy(module);
}

static void testFatalErrors(const char *file) {
  char text[4096];
  FILE *stream = fopen(file, "r");
  size_t size = fread(text, 1, sizeof(text), stream);
  FaModule module = NULL;
  FaStatus status;
  size_t count = 0;
  fclose(stream);
  printf("-- what ends other programs\n");
  EXPECT_SUCCESS(faModuleCreateFromText(context, text, size, NULL, &module));
  LOSES_MEMORY(status = faModuleRunPipeline(module, "fagpu-kernels-to-binary"));
  EXPECT_FAILURE(status);
  EXPECT_SUCCESS(faModuleCountOperations(module, "llvm.func", &count));
  printf("%d functions left\n", (int)count);
  faModuleDestroy(module);
}

int main(int argc, char **argv) {
  FaModule module;
  FaBytes bytes = NULL;
  size_t count;
  if (argc != 2)
    return 2;
  testModules();
  testCompilation();
  testProblems();
  testCalls();
  testFatalErrors(argv[1]);

  printf("-- a destroyed context\n");
  module = readText(attention);
  faContextDestroy(context);
  EXPECT_FAILURE(faModulePrint(module, FA_FORM_TEXT, &bytes));
  EXPECT_FAILURE(faModuleRunPipeline(module, "cse"));
  EXPECT_FAILURE(faModuleCountOperations(module, "x", &count));
  faModuleDestroy(module);
  /* Nothing to destroy. */
  faModuleDestroy(NULL);
  faContextDestroy(NULL);
  faFunctionDestroy(NULL);
  faBytesDestroy(NULL);
  return 0;
}
