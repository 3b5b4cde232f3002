// Matrix product on sm_90a: C = A B^T in bf16 with f32 sums. A is m x k, B is
// n x k, as the weights of a linear layer, and C is m x n. Any sizes; rows start
// at multiples of 16 bytes, so k and n are multiples of 8 where rows are packed.
//
// A tile of C has 128 rows and 256 columns. Two groups of warps compute 64 rows
// each, and one thread copies, four steps of 64 ahead. While a group waits for
// its product, stores its rows or waits for operands, the product of the other
// runs, so nothing is overlapped by hand.
//
// Tiles are dealt ahead, in bands of 16 tiles of rows, so that those at work
// share A and B in L2.
//
// Run and verify, without a GPU:
//   fa-run examples/schedules/sm_90a_matmul.mlir --target=interpret --verify \
//     --input=200x136xbf16 --input=264x136xbf16 --input=200x264xbf16

#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!sum = tensor<64x256xf32, #acc>
!out = tensor<64x256xbf16, #acc>
!a = !fagpu.channel<64x64xbf16, #sw, 4>
!b = !fagpu.channel<256x64xbf16, #sw, 4>
!av = !fagpu.view<64x64xbf16, #sw>
!bv = !fagpu.view<256x64xbf16, #sw>
!mem = memref<?x?xbf16, strided<[?, 1], offset: ?>>

// First row and column of tile t: bands of 16 tiles of rows, within a band
// column by column.
func.func private @tile(%t: i32, %rowTiles: i32, %columnTiles: i32)
    -> (i32, i32) {
  %band = arith.constant 16 : i32
  %rows = arith.constant 128 : i32
  %columns = arith.constant 256 : i32
  %inBand = arith.muli %band, %columnTiles : i32
  %number = arith.divui %t, %inBand : i32
  %place = arith.remui %t, %inBand : i32
  %first = arith.muli %number, %band : i32
  %left = arith.subi %rowTiles, %first : i32
  %height = arith.minsi %left, %band : i32
  %columnTile = arith.divui %place, %height : i32
  %inColumn = arith.remui %place, %height : i32
  %rowTile = arith.addi %first, %inColumn : i32
  %row = arith.muli %rowTile, %rows : i32
  %column = arith.muli %columnTile, %columns : i32
  return %row, %column : i32, i32
}

func.func @matmul_kernel(%a: !mem, %b: !mem, %c: !mem, %m: i32, %n: i32,
    %steps: i32, %rowTiles: i32, %columnTiles: i32, %tiles: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  // one bank for each math group
  %chA = fagpu.channel tma banks(2) : !a
  %chB = fagpu.channel tma : !b
  %block = gpu.block_id x
  %t0 = arith.index_cast %block : index to i32
  %grid = gpu.grid_dim x
  %blocks = arith.index_cast %grid : index to i32
  fagpu.role @load groups(1) regs(40) elect {
    fagpu.repeat iter(%t = %t0) : i32 {
      %row, %column = func.call @tile(%t, %rowTiles, %columnTiles)
          : (i32, i32, i32) -> (i32, i32)
      %row1 = arith.addi %row, %c64 : i32
      // what lies past an end reads as zero
      fagpu.for %i = %c0 step 1 segments(%all: to %steps) {
        %k = arith.muli %i, %c64 : i32
        fagpu.put %chA bank(%c0), %a[%row, %k] [64, 64] padded : !mem into !a
        fagpu.put %chA bank(%c1), %a[%row1, %k] [64, 64] padded : !mem into !a
        fagpu.put %chB, %b[%column, %k] [256, 64] padded : !mem into !b
        fagpu.yield
      }
      %next = arith.addi %t, %blocks : i32
      %again = arith.cmpi slt, %next, %tiles : i32
      fagpu.yield %again, %next : i1, i32
    }
  }
  fagpu.role @math(%g) groups(2) regs(232) {
    %zero = arith.constant dense<0.0> : !sum
    %g64 = arith.muli %g, %c64 : i32
    fagpu.repeat iter(%t = %t0) : i32 {
      %row, %column = func.call @tile(%t, %rowTiles, %columnTiles)
          : (i32, i32, i32) -> (i32, i32)
      %sum = fagpu.for %i = %c0 step 1 segments(%all: to %steps)
          iter(%s0 = %zero) -> (!sum) {
        %at = fagpu.acquire %chA bank(%g) : !a
        %bt = fagpu.acquire %chB : !b
        %f = fagpu.mma_async nt %at, %bt acc(%s0 : !sum)
            : !av, !bv -> !fagpu.inflight<!sum>
        %s1 = fagpu.wait %f : !fagpu.inflight<!sum>
        fagpu.release %at : !av
        fagpu.release %bt : !bv
        fagpu.yield %s1 : !sum
      }
      %out = arith.truncf %sum : !sum to !out
      %myRow = arith.addi %row, %g64 : i32
      fagpu.store %out, %c[%myRow, %column] rows(%m) columns(%n)
          : !out into !mem
      %next = arith.addi %t, %blocks : i32
      %again = arith.cmpi slt, %next, %tiles : i32
      fagpu.yield %again, %next : i1, i32
    }
  }
  return
}

// What @matmul computes.
func.func private @reference(%a: !mem, %b: !mem, %c: !mem) {
  %zero = arith.constant 0.0 : bf16
  linalg.fill ins(%zero : bf16) outs(%c : !mem)
  linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                       affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : !mem, !mem) outs(%c : !mem)
  return
}

func.func @matmul(%a: !mem, %b: !mem, %c: !mem)
    attributes {fa.implements = @reference} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %depth = arith.constant 64 : index
  %rowsOfTile = arith.constant 128 : index
  %columnsOfTile = arith.constant 256 : index
  %m = memref.dim %a, %c0 : !mem
  %n = memref.dim %b, %c0 : !mem
  %k = memref.dim %a, %c1 : !mem
  %kOfB = memref.dim %b, %c1 : !mem
  %mOfC = memref.dim %c, %c0 : !mem
  %nOfC = memref.dim %c, %c1 : !mem
  %sameK = arith.cmpi eq, %k, %kOfB : index
  cf.assert %sameK, "A and B have rows of different lengths"
  %sameM = arith.cmpi eq, %m, %mOfC : index
  cf.assert %sameM, "A and C have different numbers of rows"
  %sameN = arith.cmpi eq, %n, %nOfC : index
  cf.assert %sameN, "C has not as many columns as B has rows"
  %steps = arith.ceildivui %k, %depth : index
  %rowTiles = arith.ceildivui %m, %rowsOfTile : index
  %columnTiles = arith.ceildivui %n, %columnsOfTile : index
  %tiles = arith.muli %rowTiles, %columnTiles : index
  %multiprocessors = fagpu.multiprocessors : index
  %grid = arith.minui %tiles, %multiprocessors : index
  %mI = arith.index_cast %m : index to i32
  %nI = arith.index_cast %n : index to i32
  %stepsI = arith.index_cast %steps : index to i32
  %rowTilesI = arith.index_cast %rowTiles : index to i32
  %columnTilesI = arith.index_cast %columnTiles : index to i32
  %tilesI = arith.index_cast %tiles : index to i32
  fagpu.launch @matmul_kernel grid(%grid)
      (%a, %b, %c, %mI, %nI, %stepsI, %rowTilesI, %columnTilesI, %tilesI)
      : !mem, !mem, !mem, i32, i32, i32, i32, i32, i32
  return
}
