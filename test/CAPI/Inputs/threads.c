/* Two threads compile and call, each in a context of its own; then both call
   one function. Numbers differ by thread. */

#include "common.h"
#include <pthread.h>

enum { ROUNDS = 3, N = 64 };

static const char text[] =
    "func.func @f(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {\n"
    "  %c0 = arith.constant 0 : index\n"
    "  %n = tensor.dim %a, %c0 : tensor<?xf32>\n"
    "  %e = tensor.empty(%n) : tensor<?xf32>\n"
    "  %r = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>)\n"
    "      outs(%e : tensor<?xf32>) -> tensor<?xf32>\n"
    "  return %r : tensor<?xf32>\n"
    "}\n";

typedef struct Work {
  int number;
  FaFunction shared;
  int failures;
} Work;

static void check(Work *work, FaFunction function) {
  float a[N], b[N], sum[N];
  FaArgument arguments[3];
  int64_t shape[1] = {N};
  int i;
  for (i = 0; i != N; ++i)
    a[i] = (float)(i * work->number), b[i] = 0.5f, sum[i] = -1;
  arguments[0] = makeTensor(a, FA_TYPE_F32, 1, shape);
  arguments[1] = makeTensor(b, FA_TYPE_F32, 1, shape);
  arguments[2] = makeTensor(sum, FA_TYPE_F32, 1, shape);
  if (faFunctionCall(function, arguments, 3) != FA_SUCCESS)
    ++work->failures;
  for (i = 0; i != N; ++i)
    work->failures += sum[i] != a[i] + b[i];
  /* Each thread has messages of its own. */
  arguments[0].type = work->number == 1 ? FA_TYPE_F16 : FA_TYPE_F64;
  if (faFunctionCall(function, arguments, 3) != FA_INVALID_ARGUMENT ||
      !strstr(faGetErrorMessage(), work->number == 1 ? "f16" : "f64"))
    ++work->failures;
}

static void *run(void *argument) {
  Work *work = argument;
  int round;
  for (round = 0; round != ROUNDS; ++round) {
    FaContext context = NULL;
    FaModule module = NULL, broken = NULL;
    FaFunction function = NULL;
    FaDiagnostic diagnostic;
    char name[16];
    sprintf(name, "thread%d", work->number);
    EXPECT_SUCCESS(faContextCreate(0, &context));
    EXPECT_SUCCESS(
        faModuleCreateFromText(context, text, strlen(text), name, &module));
    EXPECT_SUCCESS(faModuleCompileFunction(module, NULL, NULL, &function));
    check(work, function);
    faFunctionDestroy(function);
    if (faModuleCreateFromText(context, "x", 1, name, &broken) !=
            FA_INVALID_MODULE ||
        faContextGetDiagnosticCount(context) != 1 ||
        faContextGetDiagnostic(context, 0, &diagnostic) != FA_SUCCESS ||
        strcmp(diagnostic.file, name) || diagnostic.line != 1)
      ++work->failures;
    faModuleDestroy(module);
    faContextDestroy(context);
  }
  for (round = 0; round != 100; ++round)
    check(work, work->shared);
  return NULL;
}

int main(void) {
  FaContext context = NULL;
  FaModule module = NULL;
  Work work[2];
  pthread_t threads[2];
  int i;
  memset(work, 0, sizeof(work));
  EXPECT_SUCCESS(faContextCreate(0, &context));
  EXPECT_SUCCESS(
      faModuleCreateFromText(context, text, strlen(text), NULL, &module));
  EXPECT_SUCCESS(faModuleCompileFunction(module, NULL, NULL, &work[0].shared));
  work[1].shared = work[0].shared;
  faModuleDestroy(module);
  faContextDestroy(context);
  for (i = 0; i != 2; ++i) {
    work[i].number = i + 1;
    if (pthread_create(&threads[i], NULL, run, &work[i]))
      return 1;
  }
  for (i = 0; i != 2; ++i)
    pthread_join(threads[i], NULL);
  faFunctionDestroy(work[0].shared);
  printf("%d failures\n", work[0].failures + work[1].failures);
  return 0;
}
