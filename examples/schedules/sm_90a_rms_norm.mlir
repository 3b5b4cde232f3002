// RMS norm of rows of 4096 on sm_90a: y = x * rsqrt(mean(x^2) + epsilon) * w, in
// bf16 with f32 arithmetic. Any number of rows.
//
// A group of four warps has four rows at a time, a row in each warp: a row is cut
// into 4 parts of 16 pieces of 64, so that part, row and piece number the rows of
// a block value of 256 x 64, of which a warp holds every fourth 16. The sum over
// a row is then a reduction over all that a warp holds.
//
// One thread copies rows in and takes tiles of four rows from a counter, as some
// multiprocessors get more of the memory's bandwidth than others. Two blocks a
// multiprocessor compute in turns, so that rows which have come need not wait.
//
// Run and verify, without a GPU:
//   fa-run examples/schedules/sm_90a_rms_norm.mlir --target=interpret --verify \
//     --input=21x4096xbf16 --input=4096xbf16 --input=21x4096xbf16 \
//     --input=f32=0.00001

#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!block = tensor<256x64xf32, #acc>
!half = tensor<256x64xbf16, #acc>
!index = tensor<256x64xi32, #acc>
!row = tensor<4xf32, #fagpu.warp<4>>
!in = !fagpu.channel<256x64xbf16, #sw, 2>
!out = !fagpu.channel<256x64xbf16, #sw, 1>
!view = !fagpu.view<256x64xbf16, #sw>
!tile = !fagpu.mail<3, i32>
!mem = memref<4x?x16x64xbf16, strided<[1024, ?, 64, 1], offset: ?>>
!weight = memref<64x64xbf16>
!rows = memref<?x4096xbf16, strided<[?, 1], offset: ?>>
!counter = memref<2xi32>

func.func @rms_norm_kernel(%x: !mem, %w: !weight, %y: !mem, %epsilon: f32,
    %tiles: i32, %counter: !counter) attributes {fagpu.kernel = "sm_90a",
    fagpu.blocks_per_sm = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %chX = fagpu.channel tma : !in
  %chY = fagpu.channel tma_store : !out
  %mail = fagpu.mail : !tile
  fagpu.role @load groups(1) regs(24) elect {
    %block = gpu.block_id x
    %first = arith.index_cast %block : index to i32
    fagpu.send %mail, %first : !tile
    fagpu.repeat iter(%t = %first) : i32 {
      %r = arith.muli %t, %c4 : i32
      fagpu.put %chX, %x[%c0, %r, %c0, %c0] [4, 4, 16, 64] padded
          : !mem into !in
      %next = fagpu.ticket %counter : !counter
      fagpu.send %mail, %next : !tile
      %again = arith.cmpi slt, %next, %tiles : i32
      fagpu.yield %again, %next : i1, i32
    }
    // the last block to leave resets the counter
    fagpu.retire %counter : !counter
  }
  fagpu.role @norm groups(1) regs(232) {
    // the weights of each warp, once for all rows: of row i of a block value,
    // piece 16 (i / 64) + i mod 16
    %c6 = arith.constant dense<6> : !index
    %sixteen = arith.constant dense<16> : !index
    %i = fagpu.iota 0 : !index
    %part = arith.shrui %i, %c6 : !index
    %before = arith.muli %part, %sixteen : !index
    %inPart = arith.remui %i, %sixteen : !index
    %piece = arith.addi %before, %inPart : !index
    %column = fagpu.iota 1 : !index
    %wh = fagpu.gather %w[%piece, %column] pairs
        : !weight[!index, !index] -> !half
    %inverse = arith.constant dense<2.44140625e-4> : !row // 1 / 4096
    %eps = tensor.splat %epsilon : !row
    %first = fagpu.recv %mail : !tile
    fagpu.repeat iter(%t = %first) : i32 {
      %r = arith.muli %t, %c4 : i32
      %view = fagpu.acquire %chX : !in
      %xh = fagpu.load %view : !view -> !half
      fagpu.release %view : !view
      %x0 = arith.extf %xh : !half to !block
      %squares = arith.mulf %x0, %x0 : !block
      %sum = fagpu.reduce add %squares chains(4) : !block -> !row
      %mean = math.fma %sum, %inverse, %eps : !row
      %scale = math.rsqrt %mean fastmath<afn> : !row
      %s = fagpu.broadcast %scale : !row -> !block
      %scaled = arith.mulf %x0, %s : !block
      %w0 = arith.extf %wh : !half to !block
      %y0 = arith.mulf %scaled, %w0 : !block
      %yh = arith.truncf %y0 : !block to !half
      fagpu.store %yh, %y[%c0, %r, %c0, %c0] sizes [4, 4, 16, 64] padded
          via(%chY : !out) : !half into !mem
      %next = fagpu.recv %mail : !tile
      %again = arith.cmpi slt, %next, %tiles : i32
      fagpu.yield %again, %next : i1, i32
    }
  }
  return
}

// What @rms_norm computes.
func.func private @reference(%x: !rows, %weight: memref<4096xbf16>, %y: !rows,
    %epsilon: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %columns = arith.constant 4096 : index
  %size = arith.constant 4096.0 : f32
  %rows = memref.dim %x, %c0 : !rows
  scf.for %r = %c0 to %rows step %c1 {
    %sum = scf.for %c = %c0 to %columns step %c1 iter_args(%s = %zero) -> (f32) {
      %h = memref.load %x[%r, %c] : !rows
      %v = arith.extf %h : bf16 to f32
      %square = arith.mulf %v, %v : f32
      %more = arith.addf %s, %square : f32
      scf.yield %more : f32
    }
    %mean = arith.divf %sum, %size : f32
    %above = arith.addf %mean, %epsilon : f32
    %scale = math.rsqrt %above : f32
    scf.for %c = %c0 to %columns step %c1 {
      %h = memref.load %x[%r, %c] : !rows
      %wh = memref.load %weight[%c] : memref<4096xbf16>
      %v = arith.extf %h : bf16 to f32
      %w = arith.extf %wh : bf16 to f32
      %scaled = arith.mulf %v, %scale : f32
      %weighted = arith.mulf %scaled, %w : f32
      %result = arith.truncf %weighted : f32 to bf16
      memref.store %result, %y[%r, %c] : !rows
    }
  }
  return
}

func.func @rms_norm(%x: !rows, %weight: memref<4096xbf16>, %y: !rows,
    %epsilon: f32) attributes {fa.implements = @reference} {
  %c0 = arith.constant 0 : index
  %rowsOfTile = arith.constant 4 : index
  %rows = memref.dim %x, %c0 : !rows
  %rowsOfY = memref.dim %y, %c0 : !rows
  %sameRows = arith.cmpi eq, %rows, %rowsOfY : index
  cf.assert %sameRows, "x and y have different numbers of rows"
  %pieces = memref.expand_shape %weight [[0, 1]]
      output_shape [64, 64] : memref<4096xbf16> into !weight
  %cutX = memref.expand_shape %x [[0], [1, 2, 3]]
      output_shape [%rows, 4, 16, 64] : !rows
      into memref<?x4x16x64xbf16, strided<[?, 1024, 64, 1], offset: ?>>
  %partsX = memref.transpose %cutX (r, a, p, c) -> (a, r, p, c)
      : memref<?x4x16x64xbf16, strided<[?, 1024, 64, 1], offset: ?>> to !mem
  %cutY = memref.expand_shape %y [[0], [1, 2, 3]]
      output_shape [%rows, 4, 16, 64] : !rows
      into memref<?x4x16x64xbf16, strided<[?, 1024, 64, 1], offset: ?>>
  %partsY = memref.transpose %cutY (r, a, p, c) -> (a, r, p, c)
      : memref<?x4x16x64xbf16, strided<[?, 1024, 64, 1], offset: ?>> to !mem
  %tiles = arith.ceildivui %rows, %rowsOfTile : index
  %c2 = arith.constant 2 : index
  %multiprocessors = fagpu.multiprocessors : index
  %most = arith.muli %multiprocessors, %c2 : index
  %grid = arith.minui %tiles, %most : index
  %tilesI = arith.index_cast %tiles : index to i32
  %counter = fagpu.counter : !counter
  fagpu.launch @rms_norm_kernel grid(%grid)
      (%partsX, %pieces, %partsY, %epsilon, %tilesI, %counter)
      : !mem, !weight, !mem, f32, i32, !counter
  return
}
