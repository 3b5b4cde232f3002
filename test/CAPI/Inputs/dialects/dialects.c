/* Tiles an attention by MLIR's C API: dialects FILE.mlir. */

#include "fa-c/Dialects.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/Pass.h"
#include "mlir-c/RegisterEverything.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(MlirStringRef text, void *data) {
  (void)data;
  printf("%.*s", (int)text.length, text.data);
}

static MlirLogicalResult report(MlirDiagnostic diagnostic, void *data) {
  (void)data;
  printf("refused: ");
  mlirDiagnosticPrint(diagnostic, print, NULL);
  printf("\n");
  return mlirLogicalResultSuccess();
}

static MlirStringRef makeString(const char *text) {
  return mlirStringRefCreateFromCString(text);
}

static void testDims(MlirContext context) {
  MlirAttribute dims = faDimsAttrGet(context, makeString("bhsd"));
  mlirAttributePrint(dims, print, NULL);
  printf(": heads at %d, sequence at %d, x at %d\n",
         (int)faDimsAttrGetPosition(dims, 'h'),
         (int)faDimsAttrGetPosition(dims, 's'),
         (int)faDimsAttrGetPosition(dims, 'x'));
  printf("dims %d %d\n", faAttributeIsADims(dims), faAttributeIsAConfig(dims));
  printf("null %d\n",
         mlirAttributeIsNull(faDimsAttrGet(context, makeString("bhsx"))));
  printf("null %d\n",
         mlirAttributeIsNull(faDimsAttrGet(context, makeString("bhss"))));
}

static MlirAttribute testConfig(MlirContext context) {
  MlirAttribute none = mlirAttributeGetNull(), config, cpu;
  cpu = mlirAttributeParseGet(
      context, makeString("#fa.cpu<lanes = 8, register_rows = 6>"));
  config = faConfigAttrGet(context, 32, 48, 1, true, cpu);
  printf("%d x %d, %d splits, %d, own target %d, %d %d\n",
         (int)faConfigAttrGetQueryBlock(config),
         (int)faConfigAttrGetKeyBlock(config),
         (int)faConfigAttrGetKeySplits(config),
         faConfigAttrIsDeterministic(config),
         mlirAttributeEqual(faConfigAttrGetTarget(config), cpu),
         faAttributeIsAConfig(config), faAttributeIsADims(config));
  printf("no target %d\n",
         mlirAttributeIsNull(faConfigAttrGetTarget(
             faConfigAttrGet(context, 8, 8, 2, false, none))));
  printf("null %d\n",
         mlirAttributeIsNull(faConfigAttrGet(context, 0, 48, 1, true, none)));
  printf("null %d\n", mlirAttributeIsNull(faConfigAttrGet(
                          context, 32, 48, 1, true, mlirUnitAttrGet(context))));
  return config;
}

/* The first operation called `name` under another one. */
static MlirOperation find(MlirOperation under, const char *name) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(under, 0));
  MlirOperation operation = mlirBlockGetFirstOperation(block);
  while (!mlirOperationIsNull(operation) &&
         !mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(operation)),
                             makeString(name)))
    operation = mlirOperationGetNextInBlock(operation);
  return operation;
}

static int run(MlirContext context, MlirModule module, const char *pipeline) {
  MlirPassManager manager = mlirPassManagerCreate(context);
  MlirLogicalResult result =
      mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(manager),
                            makeString(pipeline), print, NULL);
  if (mlirLogicalResultIsSuccess(result))
    result = mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module));
  mlirPassManagerDestroy(manager);
  return mlirLogicalResultIsSuccess(result);
}

int main(int argc, char **argv) {
  static char text[1 << 16];
  FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  MlirContext context = mlirContextCreate();
  MlirModule module;
  MlirOperation attention;
  MlirAttribute config;
  if (!file || !fread(text, 1, sizeof(text) - 1, file))
    return 2;
  fclose(file);

  mlirRegisterAllDialects(registry);
  faDialectRegistryInsertAll(registry);
  faRegisterPasses();
  faRegisterPasses();
  mlirContextAppendDialectRegistry(context, registry);
  mlirContextAttachDiagnosticHandler(context, report, NULL, NULL);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__fa__(), context);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__fagpu__(), context);
  mlirContextLoadAllAvailableDialects(context);
  print(mlirDialectHandleGetNamespace(mlirGetDialectHandle__fagpu__()), NULL);
  printf("\n");

  testDims(context);
  config = testConfig(context);

  module = mlirModuleCreateParse(context, makeString(text));
  attention =
      find(find(mlirModuleGetOperation(module), "func.func"), "fa.attention");
  mlirOperationSetAttributeByName(attention, makeString("config"), config);
  printf("verifies %d\n", mlirOperationVerify(mlirModuleGetOperation(module)));
  printf("no such pass: %d\n", run(context, module, "builtin.module(fa-x)"));
  printf("tiled: %d\n", run(context, module, "builtin.module(fa-to-level2)"));
  mlirOperationPrint(mlirModuleGetOperation(module), print, NULL);
  printf("lowered: %d\n", run(context, module, "builtin.module(fa-to-cpu)"));
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  mlirDialectRegistryDestroy(registry);
  return 0;
}
