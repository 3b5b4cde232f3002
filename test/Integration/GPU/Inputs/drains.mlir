// Tiles whose elements say where they belong, stored and added in bulk.

!i = tensor<64x64xi32, #fagpu.acc<4>>
!irow = tensor<64xi32, #fagpu.row<4>>
!acc = tensor<64x64xf32, #fagpu.acc<4>>
!half = tensor<64x64xbf16, #fagpu.acc<4>>
!f = !fagpu.channel<64x64xf32, #fagpu.smem<128>, 1>
!fv = !fagpu.view<64x64xf32, #fagpu.smem<128>>
!h = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!hv = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!sum = memref<?x64xf32>
!out = memref<?x64xbf16>

// Block b adds row * 64 + column to the rows of `sum` from 64 * (b mod tiles) on,
// and stores columns in those of `out` from 64 * b on, below the given counts.
func.func @kernel(%sum: !sum, %out: !out, %tiles: i32, %count: i32, %stored: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %block = gpu.block_id x
  %b = arith.index_cast %block : index to i32
  %tile = arith.remui %b, %tiles : i32
  %row = arith.muli %tile, %c64 : i32
  %target = arith.muli %b, %c64 : i32
  %f = fagpu.channel threads : !f
  %h = fagpu.channel threads : !h
  fagpu.role @store groups(1) elect {
    %v = fagpu.acquire %f : !f
    fagpu.drain %v, %sum[%row, %c0] rows(%count) add : !fv into !sum
    fagpu.release %v : !fv
    %w = fagpu.acquire %h : !h
    fagpu.drain %w, %out[%target, %c0] rows(%stored) : !hv into !out
    fagpu.release %w : !hv
  }
  fagpu.role @math groups(1) {
    %columns = arith.constant dense<64> : !irow
    %r = fagpu.iota 0 : !irow
    %r64 = arith.muli %r, %columns : !irow
    %rows = fagpu.broadcast %r64 : !irow -> !i
    %c = fagpu.iota 1 : !i
    %where = arith.addi %rows, %c : !i
    %value = arith.sitofp %where : !i to !acc
    fagpu.write %f, %value : !acc into !f
    %column = arith.sitofp %c : !i to !acc
    %narrow = arith.truncf %column : !acc to !half
    fagpu.write %h, %narrow : !half into !h
  }
  return
}

// Each row is added to `times` times.
func.func @host(%sum: !sum, %out: !out, %times: i32, %count: i32, %stored: i32) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %rows = memref.dim %sum, %c0 : !sum
  %tiles = arith.ceildivsi %rows, %c64 : index
  %n = arith.index_cast %tiles : index to i32
  %t = arith.index_cast %times : i32 to index
  %blocks = arith.muli %tiles, %t : index
  fagpu.launch @kernel grid(%blocks) (%sum, %out, %n, %count, %stored) : !sum, !out, i32, i32, i32
  return
}
