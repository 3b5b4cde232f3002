/* Writes an object file: object PATH. */

#include "common.h"

static const char text[] =
    "func.func @total(%a: tensor<64xf32>) -> tensor<1xf32> {\n"
    "  %c0 = arith.constant 0.0 : f32\n"
    "  %e = tensor.empty() : tensor<1xf32>\n"
    "  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<1xf32>)\n"
    "      -> tensor<1xf32>\n"
    "  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>,\n"
    "      affine_map<(i, j) -> (i)>], iterator_types = [\"parallel\",\n"
    "      \"reduction\"]} ins(%a : tensor<64xf32>) outs(%z : tensor<1xf32>) "
    "{\n"
    "  ^bb0(%x: f32, %s: f32):\n"
    "    %t = arith.addf %x, %s : f32\n"
    "    linalg.yield %t : f32\n"
    "  } -> tensor<1xf32>\n"
    "  return %r : tensor<1xf32>\n"
    "}\n";

int main(int argc, char **argv) {
  FaContext context = NULL;
  FaModule module = NULL;
  FaBytes object = NULL;
  FaCPUOptions options = {sizeof(FaCPUOptions), 2, "x86-64", "+avx2,+fma"};
  FILE *file;
  if (argc != 2)
    return 2;
  EXPECT_SUCCESS(faContextCreate(0, &context));
  EXPECT_SUCCESS(
      faModuleCreateFromText(context, text, strlen(text), NULL, &module));
  EXPECT_SUCCESS(faModuleCompileObject(module, &options, &object));
  file = fopen(argv[1], "wb");
  fwrite(faBytesGetData(object), 1, faBytesGetSize(object), file);
  fclose(file);
  faBytesDestroy(object);
  faModuleDestroy(module);
  faContextDestroy(context);
  return 0;
}
