// RUN: fa-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'fagpu.kernel' is "sm_70", expected one of sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120}}
func.func @f() attributes {fagpu.kernel = "sm_70"} {
  return
}

// -----

// expected-error @below {{'fagpu.kernel' is for functions only}}
module attributes {fagpu.kernel = "sm_90a"} {}

// -----

func.func @f(%x: f32) {
  // expected-error @below {{has 'fagpu.interleave_rows', expected 'fagpu.sharers' beside it}}
  %y = arith.divf %x, %x {fagpu.interleave_rows} : f32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @below {{'fagpu.interleave_rows' is true, expected no value}}
  %y = arith.divf %x, %x {fagpu.interleave_rows = true, fagpu.sharers = 2 : i64} : f32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @below {{'fagpu.sharers' is 0 : i64, expected an i64 of 1 or more on an arith.divf}}
  %y = arith.divf %x, %x {fagpu.sharers = 0 : i64} : f32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @below {{'fagpu.sharers' is 2 : si64, expected an i64 of 1 or more on an arith.divf}}
  %y = arith.divf %x, %x {fagpu.sharers = 2 : si64} : f32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @below {{'fagpu.sharers' is 2 : i64, expected an i64 of 1 or more on an arith.divf}}
  %y = arith.mulf %x, %x {fagpu.sharers = 2 : i64} : f32
  return
}

// -----

// expected-error @below {{'fagpu.blocks_per_sm' is 0 : i64, expected a positive integer}}
func.func @f() attributes {fagpu.blocks_per_sm = 0} {
  return
}

// -----

func.func @f() {
  // expected-error @below {{'fagpu.at' is [1], expected [stage, order]}}
  %c = arith.constant {fagpu.at = [1]} 0 : i32
  return
}

// -----

func.func @f() {
  // expected-error @below {{'fagpu.at' is "early", expected [stage, order]}}
  %c = arith.constant {fagpu.at = "early"} 0 : i32
  return
}

// -----

// expected-error @below {{layout #fagpu.acc<4> holds a shape of rank 2 of multiples of 64 x 8, got 60x128; nearest is 64x128}}
func.func private @f(tensor<60x128xf32, #fagpu.acc<4>>)

// -----

// expected-error @below {{layout #fagpu.row<4> holds a shape of rank 1 of multiples of 64, got 64x128; nearest is 64}}
func.func private @f(tensor<64x128xf32, #fagpu.row<4>>)

// -----

// expected-error @below {{layout #fagpu.acc<4> holds a shape of rank 2 of multiples of 64 x 8, got ?x128; nearest is 64x128}}
func.func private @f(tensor<?x128xf32, #fagpu.acc<4>>)

// -----

// expected-error @below {{layout #fagpu.opa<4> holds f16 or bf16, got 'f32'}}
func.func private @f(tensor<64x128xf32, #fagpu.opa<4>>)

// -----

// expected-error @below {{layout #fagpu.quad<4> has 4 columns, got 8}}
func.func private @f(tensor<64x8xf32, #fagpu.quad<4>>)

// -----

// expected-error @below {{layout #fagpu.col<4> holds a shape of rank 1 of multiples of 8, got 4; nearest is 8}}
func.func private @f(tensor<4xf32, #fagpu.col<4>>)

// -----

// expected-error @below {{layout acc has 0 warps, expected 1 to 32}}
#l = #fagpu.acc<0>

// -----

// expected-error @below {{layout row has 0 warps, expected 1 to 32}}
#l = #fagpu.row<0>

// -----

// expected-error @below {{layout col has 0 warps, expected 1 to 32}}
#l = #fagpu.col<0>

// -----

// expected-error @below {{layout quad has 0 warps, expected 1 to 32}}
#l = #fagpu.quad<0>

// -----

// expected-error @below {{layout opa has 0 warps, expected 1 to 32}}
#l = #fagpu.opa<0>

// -----

// expected-error @below {{swizzle is 48 bytes, expected 0, 32, 64 or 128}}
#l = #fagpu.smem<48>

// -----

// expected-error @below {{a tile has rank 3, expected 1 or 2}}
!t = !fagpu.view<2x64x128xbf16, #fagpu.smem<128>>

// -----

// expected-error @below {{a tile has a size of 0, expected at least 1}}
!t = !fagpu.view<0x128xbf16, #fagpu.smem<128>>

// -----

// expected-error @below {{a tile has elements of type 'i1', expected numbers of whole bytes}}
!t = !fagpu.view<64x128xi1, #fagpu.smem<128>>

// -----

// expected-error @below {{a swizzled tile has a multiple of 8 rows, got 60}}
!t = !fagpu.view<60x128xbf16, #fagpu.smem<128>>

// -----

// expected-error @below {{a tile with swizzle 128 has a multiple of 64 columns, got 80; nearest is 128}}
!t = !fagpu.view<64x80xbf16, #fagpu.smem<128>>

// -----

// expected-error @below {{a channel has depth 0, expected at least 1}}
!t = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 0>

// -----

// expected-error @below {{a mail has depth 0, expected at least 1}}
!t = !fagpu.mail<0, i32>

// -----

// expected-error @below {{a mail holds 'i64', expected i32 or f32}}
!t = !fagpu.mail<1, i64>

// -----

// expected-error @below {{a value in flight is 'tensor<64xf32, #fagpu.row<4>>', expected f32 of layout #fagpu.acc}}
!t = !fagpu.inflight<tensor<64xf32, #fagpu.row<4>>>

// -----

// expected-error @below {{a value in flight keeps 'tensor<64x16xbf16, #fagpu.acc<4>>', expected layout #fagpu.opa}}
!t = !fagpu.inflight<tensor<64x16xf32, #fagpu.acc<4>> keeps tensor<64x16xbf16, #fagpu.acc<4>>>

// -----

func.func @f() {
  // expected-error @below {{'fagpu.role' op stands in @f, which has no 'fagpu.kernel'}}
  fagpu.role @r groups(1) {}
  return
}

// -----

func.func @f() attributes {fagpu.kernel = "sm_90a"} {
  // expected-error @below {{'fagpu.role' op has groups(0), expected 1 to 32}}
  fagpu.role @r groups(0) {}
  return
}

// -----

func.func @f() attributes {fagpu.kernel = "sm_90a"} {
  // expected-error @below {{'fagpu.role' op has warps(33), expected 1 to 32}}
  fagpu.role @r warps(33) {}
  return
}

// -----

func.func @f() attributes {fagpu.kernel = "sm_90a"} {
  // expected-error @below {{'fagpu.role' op has regs(44), expected a multiple of 8 from 24 to 256; nearest is 48}}
  fagpu.role @r groups(1) regs(44) {}
  return
}

// -----

func.func @f() attributes {fagpu.kernel = "sm_90a"} {
  // expected-error @below {{'fagpu.role' op has regs(264), expected a multiple of 8 from 24 to 256; nearest is 256}}
  fagpu.role @r groups(1) regs(264) {}
  return
}

// -----

func.func @f() attributes {fagpu.kernel = "sm_80"} {
  // expected-error @below {{'fagpu.role' op has regs(40), but sm_80 cannot move registers between warps; leave it out}}
  fagpu.role @r groups(1) regs(40) {}
  return
}

// -----

func.func @f() attributes {fagpu.kernel = "sm_90a"} {
  // expected-error @below {{'fagpu.role' op is followed by 'fagpu.turns'; roles are the last operations of a kernel}}
  fagpu.role @r groups(1) {}
  %t = fagpu.turns 2 : !fagpu.turns
  return
}

// -----

func.func @f() attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @r groups(1) {}
  // expected-error @below {{'fagpu.role' op has the name of another role, @r}}
  fagpu.role @r groups(1) {}
  return
}

// -----

func.func @f() attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @r groups(1) elect {
    // expected-error @below {{'fagpu.iota' op makes the block value 'tensor<64xi32, #fagpu.row<4>>' in the role @r, which one thread runs (elect)}}
    %i = fagpu.iota 0 : tensor<64xi32, #fagpu.row<4>>
  }
  return
}

// -----

func.func @f() attributes {fagpu.kernel = "sm_90a"} {
  // expected-error @below {{'fagpu.role' op has a body with 0 arguments, expected one i32, the group}}
  "fagpu.role"() <{sym_name = "r"}> ({
    %c = arith.constant 0 : i32
  }) : () -> ()
  return
}

// -----

func.func @f(%n: i32, %x: f32) {
  // expected-error @below {{'fagpu.for' op has step 2, expected 1 or -1}}
  fagpu.for %i = %n step 2 segments(%a: to %n) {
    fagpu.yield
  }
  return
}

// -----

func.func @f(%n: i32, %x: f32) {
  // expected-error @below {{'fagpu.for' op has no segments, expected at least one}}
  fagpu.for %i = %n step 1 segments() {
    fagpu.yield
  }
  return
}

// -----

func.func @f(%n: i32, %x: f32) {
  // expected-error @below {{'once' is segment 1, expected it to be the first}}
  fagpu.for %i = %n step 1 segments(%a: to %n, %b: once) {
    fagpu.yield
  }
  return
}

// -----

func.func @f(%n: i32, %x: f32) {
  // expected-error @below {{has 1 values in iter(...), but 2 types}}
  %r = fagpu.for %i = %n step 1 segments(%a: to %n) iter(%y = %x) -> (f32, f32) {
    fagpu.yield %y : f32
  }
  return
}

// -----

func.func @f(%n: i32, %x: f32) {
  // expected-error @below {{'fagpu.for' op carries 1 values, but has 1 arguments and yields 0}}
  %r = fagpu.for %i = %n step 1 segments(%a: to %n) iter(%y = %x) -> (f32) {
    fagpu.yield
  }
  return
}

// -----

func.func @f(%n: i32, %x: f32) {
  // expected-error @below {{'fagpu.for' op carries value 0 of type 'f32', but its argument has type 'f32' and 'i32' is yielded}}
  %r = fagpu.for %i = %n step 1 segments(%a: to %n) iter(%y = %x) -> (f32) {
    fagpu.yield %i : i32
  }
  return
}

// -----

func.func @f(%n: i32, %x: f32) {
  // expected-error @below {{'fagpu.for' op has 0 results, whose types are not those of its 1 carried values}}
  "fagpu.for"(%n, %n, %x) <{once = false, operandSegmentSizes = array<i32: 1, 1, 1>, step = 1 : i32}> ({
  ^bb0(%i: i32, %a: i1, %y: f32):
    fagpu.yield %y : f32
  }) : (i32, i32, f32) -> ()
  return
}

// -----

func.func @f(%n: i32, %x: f32) {
  // expected-error @below {{'fagpu.for' op has 1 arguments, expected an index and 1 flags}}
  "fagpu.for"(%n, %n) <{once = false, operandSegmentSizes = array<i32: 1, 1, 0>, step = 1 : i32}> ({
  ^bb0(%i: i32):
    fagpu.yield
  }) : (i32, i32) -> ()
  return
}

// -----

func.func @f(%n: i32, %x: f32) {
  fagpu.repeat {
    // expected-error @below {{'fagpu.yield' op of 'fagpu.repeat' has no i1 as its first operand, which says whether the body runs again}}
    fagpu.yield
  }
  return
}

// -----

func.func @f(%n: i32, %x: f32) {
  // expected-error @below {{'fagpu.repeat' op carries 1 values, but has 1 arguments and yields 0}}
  fagpu.repeat iter(%y = %x) : f32 {
    %c = arith.constant true
    fagpu.yield %c : i1
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{'fagpu.turns' op is for 1 groups, expected 2 to 15 (one named barrier a group)}}
  %t = fagpu.turns 1 : !fagpu.turns
  return
}

// -----

func.func @f(%c: memref<4xi32>) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @r groups(1) elect {
    // expected-error @below {{'fagpu.ticket' op has a counter of type 'memref<4xi32>', expected two words, memref<2xi32>}}
    %t = fagpu.ticket %c : memref<4xi32>
  }
  return
}

// -----

func.func @f(%c: memref<2xi32>) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @r groups(1) {
    // expected-error @below {{'fagpu.retire' op stands outside a role that one thread runs (elect)}}
    fagpu.retire %c : memref<2xi32>
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%m: !m, %n: i32) {
  // expected-error @below {{'fagpu.channel' op has 0 banks, expected at least 1}}
  %c = fagpu.channel tma banks(0) : !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%m: !m, %n: i32) {
  %c = fagpu.channel tma : !q
  // expected-error @below {{'fagpu.channel' op takes 32768 bytes over a channel of 16384}}
  %d = fagpu.channel tma banks(2) over(%c : !q) : !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%c: !q) {
  // expected-error @below {{'fagpu.channel' op shares the memory of a value that is not made by 'fagpu.channel'}}
  %d = fagpu.channel tma over(%c : !q) : !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%m: !m, %n: i32) {
  %c = fagpu.channel threads : !q
  // expected-error @below {{'fagpu.put' op uses a channel of the engine 'threads', expected 'tma' or 'cp_async'}}
  fagpu.put %c, %m[%n, %n, %n, %n] [1, 64, 1, 128] : !m into !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%m: !m, %n: i32) {
  %c = fagpu.channel tma banks(2) : !q
  // expected-error @below {{'fagpu.put' op names no bank of a channel that has 2}}
  fagpu.put %c, %m[%n, %n, %n, %n] [1, 64, 1, 128] : !m into !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%m: !m, %n: i32) {
  %c = fagpu.channel tma : !q
  // expected-error @below {{'fagpu.acquire' op names a bank of a channel that has one bank}}
  %v = fagpu.acquire %c bank(%n) : !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%m: !m, %n: i32) {
  %c = fagpu.channel tma : !q
  // expected-error @below {{'fagpu.put' op has 1 offsets in part(...), expected 2 as the tile is 64x128}}
  fagpu.put %c part(%n), %m[%n, %n, %n, %n] [1, 64, 1, 128] : !m into !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%m: !m, %n: i32) {
  %c = fagpu.channel tma : !q
  // expected-error @below {{'fagpu.put' op has 3 offsets, expected 4 as the memory is 'memref<?x?x?x128xbf16>'}}
  fagpu.put %c, %m[%n, %n, %n] [1, 64, 1, 128] : !m into !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%m: !m, %n: i32) {
  %c = fagpu.channel tma : !q
  // expected-error @below {{'fagpu.put' op has 3 sizes, expected 4 as the memory is 'memref<?x?x?x128xbf16>'}}
  fagpu.put %c, %m[%n, %n, %n, %n] [1, 64, 128] : !m into !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%m: memref<?x?x?x128xf16>, %n: i32) {
  %c = fagpu.channel tma : !q
  // expected-error @below {{'fagpu.put' op copies elements of type 'f16' to a channel of type 'bf16'}}
  fagpu.put %c, %m[%n, %n, %n, %n] [1, 64, 1, 128] : memref<?x?x?x128xf16> into !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%m: !m, %n: i32) {
  %c = fagpu.channel tma : !q
  // expected-error @below {{'fagpu.put' op copies 48x128 into a tile of 64x128, expected sizes that divide the tile}}
  fagpu.put %c, %m[%n, %n, %n, %n] [1, 48, 1, 128] : !m into !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%m: !m, %n: i32) {
  %c = fagpu.channel tma : !q
  // expected-error @below {{'fagpu.put' op copies 32x128 into a tile of 64x128 without saying which part(...)}}
  fagpu.put %c, %m[%n, %n, %n, %n] [1, 32, 1, 128] : !m into !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%x: tensor<64x128xbf16, #fagpu.acc<4>>) {
  %c = fagpu.channel tma : !q
  // expected-error @below {{'fagpu.write' op uses a channel of the engine 'tma', expected 'threads' or 'cp_async'}}
  fagpu.write %c, %x : tensor<64x128xbf16, #fagpu.acc<4>> into !q
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%v: !qv, %n: i32) {
  // expected-error @below {{'fagpu.slice' op has 1 offsets, expected 2}}
  %s = fagpu.slice %v[%n] : !qv to !qv
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%v: !qv, %n: i32) {
  // expected-error @below {{'fagpu.slice' op makes '!fagpu.view<64x128xf16, #fagpu.smem<128>>' of '!fagpu.view<64x128xbf16, #fagpu.smem<128>>', expected the same rank, elements and layout}}
  %s = fagpu.slice %v[%n, %n] : !qv to !fagpu.view<64x128xf16, #fagpu.smem<128>>
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%v: !qv, %n: i32) {
  // expected-error @below {{'fagpu.slice' op takes 128x128 of a view of 64x128}}
  %s = fagpu.slice %v[%n, %n] : !qv to !fagpu.view<128x128xbf16, #fagpu.smem<128>>
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%v: !qv, %m: !m, %n: i32) {
  // expected-error @below {{'fagpu.drain' op has 1 offsets, expected 4 as the memory is 'memref<?x?x?x128xbf16>'}}
  fagpu.drain %v, %m[%n] : !qv into !m
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x?x?x128xbf16>
func.func @f(%v: !qv, %m: memref<?xf32>, %n: i32) {
  // expected-error @below {{'fagpu.drain' op copies elements of type 'bf16' to memory of type 'f32'}}
  fagpu.drain %v, %m[%n] : !qv into memref<?xf32>
  return
}

// -----

!h = tensor<64x128xbf16, #fagpu.acc<4>>
!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!m = memref<?x?x?x128xbf16>
func.func @f(%h: !h, %m: !m, %n: i32) {
  // expected-error @below {{'fagpu.store' op has 2 offsets, expected 4 as the memory is 'memref<?x?x?x128xbf16>'}}
  fagpu.store %h, %m[%n, %n] : !h into !m
  return
}

// -----

!h = tensor<64x128xbf16, #fagpu.acc<4>>
!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!m = memref<?x?x?x128xbf16>
func.func @f(%h: !h, %m: memref<?xf32>, %n: i32) {
  // expected-error @below {{'fagpu.store' op copies elements of type 'bf16' to memory of type 'f32'}}
  fagpu.store %h, %m[%n] : !h into memref<?xf32>
  return
}

// -----

!h = tensor<64x128xbf16, #fagpu.acc<4>>
!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!m = memref<?x?x?x128xbf16>
func.func @f(%h: !h, %m: !m, %n: i32) {
  // expected-error @below {{'fagpu.store' op stores 64x128 to a box of 1x32x1x128, expected as many elements}}
  fagpu.store %h, %m[%n, %n, %n, %n] sizes [1, 32, 1, 128] : !h into !m
  return
}

// -----

!h = tensor<64x128xbf16, #fagpu.acc<4>>
func.func @f(%h: !h, %m: memref<?xbf16>, %n: i32) {
  // expected-error @below {{'fagpu.store' op stores 64x128 to a box of 128, expected as many elements}}
  fagpu.store %h, %m[%n] : !h into memref<?xbf16>
  return
}

// -----

!h = tensor<64x128xbf16, #fagpu.acc<4>>
func.func @f(%h: !h, %m: memref<?x?x128xbf16>, %n: i32) {
  // expected-error @below {{'fagpu.store' op has 2 sizes, expected 3 as the memory is 'memref<?x?x128xbf16>'}}
  fagpu.store %h, %m[%n, %n, %n] sizes [64, 128] : !h into memref<?x?x128xbf16>
  return
}

// -----

func.func @f(%v: !fagpu.view<64x128xbf16, #fagpu.smem<128>>, %m: memref<?x?x128xbf16>, %n: i32) {
  // expected-error @below {{'fagpu.drain' op has 2 sizes, expected 3 as the memory is 'memref<?x?x128xbf16>'}}
  fagpu.drain %v, %m[%n, %n, %n] sizes [64, 128] : !fagpu.view<64x128xbf16, #fagpu.smem<128>> into memref<?x?x128xbf16>
  return
}

// -----

func.func @f(%v: !fagpu.view<64x128xbf16, #fagpu.smem<128>>, %m: memref<?xbf16>, %n: i32) {
  // expected-error @below {{'fagpu.drain' op stores 64x128 to a box of 128, expected as many elements}}
  fagpu.drain %v, %m[%n] : !fagpu.view<64x128xbf16, #fagpu.smem<128>> into memref<?xbf16>
  return
}

// -----

!h = tensor<64x128xbf16, #fagpu.acc<4>>
!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!m = memref<?x?x?x128xbf16>
func.func @f(%h: !h, %m: !m, %n: i32) {
  // expected-error @below {{'fagpu.store' op names a bank without via(...)}}
  fagpu.store %h, %m[%n, %n, %n, %n] sizes [1, 64, 1, 128] bank(%n) : !h into !m
  return
}

// -----

!h = tensor<64x128xbf16, #fagpu.acc<4>>
!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!m = memref<?x?x?x128xbf16>
func.func @f(%h: !h, %m: !m, %n: i32) {
  %c = fagpu.channel tma : !q
  // expected-error @below {{'fagpu.store' op uses a channel of the engine 'tma', expected 'tma_store' or 'threads'}}
  fagpu.store %h, %m[%n, %n, %n, %n] sizes [1, 64, 1, 128] via(%c : !q) : !h into !m
  return
}

// -----

!h = tensor<64x128xbf16, #fagpu.acc<4>>
!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!m = memref<?x?x?x128xbf16>
func.func @f(%h: !h, %m: !m, %n: i32) {
  %c = fagpu.channel tma_store : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
  // expected-error @below {{'fagpu.store' op stores 'tensor<64x128xbf16, #fagpu.acc<4>>' via a channel of 64x64 x 'bf16', expected the same}}
  fagpu.store %h, %m[%n, %n, %n, %n] sizes [1, 64, 1, 128] via(%c : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>) : !h into !m
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !fagpu.view<128xbf16, #fagpu.smem<0>>) {
  // expected-error @below {{'fagpu.mma' op multiplies '!fagpu.view<64x128xbf16, #fagpu.smem<128>>' and '!fagpu.view<128xbf16, #fagpu.smem<0>>', expected rank 2}}
  %x = fagpu.mma nt %q, %k : !qv, !fagpu.view<128xbf16, #fagpu.smem<0>> -> !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%h: tensor<64x128xbf16, #fagpu.acc<4>>, %k: !kv) {
  // expected-error @below {{'fagpu.mma' op has a first operand of layout #fagpu.acc<4>, expected #fagpu.opa (by fagpu.convert) or a view}}
  %x = fagpu.mma nt %h, %k : tensor<64x128xbf16, #fagpu.acc<4>>, !kv -> !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !fagpu.view<128x128xf16, #fagpu.smem<128>>) {
  // expected-error @below {{'fagpu.mma' op multiplies elements of type 'bf16' and 'f16', expected f16 or bf16 on both sides}}
  %x = fagpu.mma nt %q, %k : !qv, !fagpu.view<128x128xf16, #fagpu.smem<128>> -> !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !fagpu.view<128x64xbf16, #fagpu.smem<128>>) {
  // expected-error @below {{'fagpu.mma' op sums over 128 in its first operand, but over 64 in its second}}
  %x = fagpu.mma nt %q, %k : !qv, !fagpu.view<128x64xbf16, #fagpu.smem<128>> -> !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !fagpu.view<64x24xbf16, #fagpu.smem<0>>, %k: !fagpu.view<128x24xbf16, #fagpu.smem<0>>) {
  // expected-error @below {{'fagpu.mma' op sums over 24, expected a multiple of 16; nearest is 32}}
  %x = fagpu.mma nt %q, %k : !fagpu.view<64x24xbf16, #fagpu.smem<0>>, !fagpu.view<128x24xbf16, #fagpu.smem<0>> -> !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !kv, %p: !p, %o: !acc) {
  // expected-error @below {{'fagpu.mma' op makes 'tensor<64x64xf32, #fagpu.acc<4>>', expected 64x128 f32 of layout #fagpu.acc}}
  %x = fagpu.mma nt %q, %k : !qv, !kv -> tensor<64x64xf32, #fagpu.acc<4>>
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !kv, %o: tensor<64x64xf32, #fagpu.acc<4>>) {
  // expected-error @below {{'fagpu.mma' op adds to 'tensor<64x64xf32, #fagpu.acc<4>>', expected the type of its value, 'tensor<64x128xf32, #fagpu.acc<4>>'}}
  %x = fagpu.mma nt %q, %k acc(%o : tensor<64x64xf32, #fagpu.acc<4>>) : !qv, !kv -> !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
func.func @f(%q: !qv, %other: !fagpu.view<64x128xbf16, #fagpu.smem<64>>, %k: !kv) {
  // expected-error @below {{'fagpu.mma_sum' op has no product, expected at least one}}
  %x = fagpu.mma_sum nt [%q], [%k] pairs [], [] : (!qv), (!kv) -> !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
func.func @f(%q: !qv, %other: !fagpu.view<64x128xbf16, #fagpu.smem<64>>, %k: !kv) {
  // expected-error @below {{'fagpu.mma_sum' op pairs 2 operands with 1, expected as many}}
  %x = fagpu.mma_sum nt [%q], [%k] pairs [0, 0], [0] : (!qv), (!kv) -> !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
func.func @f(%q: !qv, %other: !fagpu.view<64x128xbf16, #fagpu.smem<64>>, %k: !kv) {
  // expected-error @below {{'fagpu.mma_sum' op multiplies first operand 1, expected one of 0 to 0}}
  %x = fagpu.mma_sum nt [%q], [%k] pairs [0, 1], [0, 0] : (!qv), (!kv) -> !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
func.func @f(%q: !qv, %other: !fagpu.view<64x128xbf16, #fagpu.smem<64>>, %k: !kv) {
  // expected-error @below {{'fagpu.mma_sum' op multiplies second operand -1, expected one of 0 to 1}}
  %x = fagpu.mma_sum nt [%q], [%k, %k] pairs [0, 0], [0, -1] : (!qv), (!kv, !kv) -> !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
func.func @f(%q: !qv, %other: !fagpu.view<64x128xbf16, #fagpu.smem<64>>, %k: !kv) {
  // expected-error @below {{'fagpu.mma_sum' op has first operands of types '!fagpu.view<64x128xbf16, #fagpu.smem<128>>' and '!fagpu.view<64x128xbf16, #fagpu.smem<64>>', expected one type}}
  %x = fagpu.mma_sum nt [%q, %other], [%k] pairs [0, 1], [0, 0] : (!qv, !fagpu.view<64x128xbf16, #fagpu.smem<64>>), (!kv) -> !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
func.func @f(%q: !qv, %other: !fagpu.view<64x128xbf16, #fagpu.smem<64>>, %k: !kv) {
  // expected-error @below {{'fagpu.mma_sum' op makes 'tensor<64x64xf32, #fagpu.acc<4>>', expected 64x128 f32 of layout #fagpu.acc}}
  %x = fagpu.mma_sum nt [%q], [%k] pairs [0, 0], [0, 0] : (!qv), (!kv) -> tensor<64x64xf32, #fagpu.acc<4>>
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !kv, %p: !p, %o: !acc) {
  // expected-error @below {{'fagpu.mma_async' op makes 'tensor<128x128xf32, #fagpu.acc<4>>', expected 64 rows over 4 warps}}
  %f = fagpu.mma_async nt %k, %k : !kv, !kv -> !fagpu.inflight<tensor<128x128xf32, #fagpu.acc<4>>>
  %x = fagpu.wait %f : !fagpu.inflight<tensor<128x128xf32, #fagpu.acc<4>>>
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !fagpu.view<264x128xbf16, #fagpu.smem<128>>) {
  // expected-error @below {{'fagpu.mma_async' op makes 264 columns, expected at most 256}}
  %f = fagpu.mma_async nt %q, %k : !qv, !fagpu.view<264x128xbf16, #fagpu.smem<128>> -> !fagpu.inflight<tensor<64x264xf32, #fagpu.acc<4>>>
  %x = fagpu.wait %f : !fagpu.inflight<tensor<64x264xf32, #fagpu.acc<4>>>
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !kv, %p: !p, %o: !acc) {
  // expected-error @below {{'fagpu.mma_async' op has a first operand of type 'tensor<64x128xbf16, #fagpu.opa<4>>', which its result does not keep}}
  %f = fagpu.mma_async nn %p, %k : !p, !kv -> !f
  %x = fagpu.wait %f : !f
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !kv, %p: !p, %o: !acc) {
  // expected-error @below {{'fagpu.mma_async' op has a first operand of type '!fagpu.view<64x128xbf16, #fagpu.smem<128>>', which its result cannot keep}}
  %f = fagpu.mma_async nt %q, %k : !qv, !kv -> !fp
  %x = fagpu.wait %f : !fp
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !kv, %p: !p, %o: !acc) {
  // expected-error @below {{'fagpu.mma_async' op updates an accumulator in place that has another use; expected one use}}
  %f = fagpu.mma_async nt %q, %k acc(%o : !acc) : !qv, !kv -> !f
  %x = fagpu.wait %f : !f
  %y = arith.addf %o, %x : !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !kv, %p: !p, %o: !acc) {
  // expected-error @below {{'fagpu.mma_async' op has a result with 0 uses, expected one 'fagpu.wait'}}
  %f = fagpu.mma_async nt %q, %k : !qv, !kv -> !f
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !kv, %p: !p, %o: !acc) {
  // expected-error @below {{'fagpu.mma_async' op has a result with 2 uses, expected one 'fagpu.wait'}}
  %f = fagpu.mma_async nt %q, %k : !qv, !kv -> !f
  %x = fagpu.wait %f : !f
  %y = fagpu.wait %f : !f
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !kv, %c: i1) {
  // expected-error @below {{'fagpu.mma_async' op has a result used by 'fagpu.wait', expected 'fagpu.wait' in the same block}}
  %f = fagpu.mma_async nt %q, %k : !qv, !kv -> !f
  scf.if %c {
    %x = fagpu.wait %f : !f
  }
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!f = !fagpu.inflight<!acc>
!fp = !fagpu.inflight<!acc keeps !p>
func.func @f(%q: !qv, %k: !kv, %p: !p, %o: !acc) {
  // expected-error @below {{'fagpu.mma_async' op has a result used by 'func.call', expected 'fagpu.wait' in the same block}}
  %f = fagpu.mma_async nt %q, %k : !qv, !kv -> !f
  func.call @g(%f) : (!f) -> ()
  return
}
func.func private @g(!f)

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!col = tensor<128xf32, #fagpu.col<4>>
!quad = tensor<64x4xf32, #fagpu.quad<4>>
func.func @f(%x: !row) {
  // expected-error @below {{'fagpu.reduce' op goes from 'tensor<64xf32, #fagpu.row<4>>' to 'tensor<64x4xf32, #fagpu.quad<4>>', expected acc to row, acc to quad or quad to row, of the same rows, elements and warps}}
  %y = fagpu.reduce add %x : !row -> !quad
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!col = tensor<128xf32, #fagpu.col<4>>
!quad = tensor<64x4xf32, #fagpu.quad<4>>
func.func @f(%x: !acc) {
  // expected-error @below {{'fagpu.reduce' op goes from 'tensor<64x128xf32, #fagpu.acc<4>>' to 'tensor<128xf32, #fagpu.row<4>>', expected acc to row}}
  %y = fagpu.reduce add %x : !acc -> tensor<128xf32, #fagpu.row<4>>
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
func.func @f(%x: !acc) {
  // expected-error @below {{'fagpu.reduce' op goes from 'tensor<64x128xf32, #fagpu.acc<4>>' to 'tensor<2xf32, #fagpu.warp<2>>', expected acc to row, acc to quad or quad to row, of the same rows, elements and warps, or acc to warp, of one element a warp}}
  %y = fagpu.reduce add %x : !acc -> tensor<2xf32, #fagpu.warp<2>>
  return
}

// -----

func.func @f(%x: tensor<64x128xf32>) {
  // expected-error @below {{'fagpu.reduce' op goes from 'tensor<64x128xf32>' to 'tensor<3xf32>', expected acc to row}}
  %y = fagpu.reduce add %x : tensor<64x128xf32> -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #fagpu.warp<4>>) {
  // expected-error @below {{'fagpu.broadcast' op goes from 'tensor<4xf32, #fagpu.warp<4>>' to 'tensor<64x4xf32, #fagpu.quad<4>>', expected row to acc, row to quad or col to acc, of the same rows or columns, elements and warps, or warp to acc, of one element a warp}}
  %y = fagpu.broadcast %x : tensor<4xf32, #fagpu.warp<4>> -> tensor<64x4xf32, #fagpu.quad<4>>
  return
}

// -----

// expected-error @below {{layout #fagpu.warp<4> has 4 elements, one a warp, got 8}}
func.func private @f(tensor<8xf32, #fagpu.warp<4>>)

// -----

// expected-error @below {{layout #fagpu.warp<4> holds a shape of rank 1 of multiples of 4, got 2; nearest is 4}}
func.func private @f(tensor<2xf32, #fagpu.warp<4>>)

// -----

// expected-error @below {{layout warp has 33 warps, expected 1 to 32}}
#l = #fagpu.warp<33>

// -----

!st = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @f(%x: tensor<64x64xbf16, #fagpu.acc<4>>, %m: memref<?x?xbf16>, %i: i32) {
  %via = fagpu.channel tma_store : !st
  // expected-error @below {{'fagpu.store' op is padded at all ends of 'memref<?x?xbf16>', expected no rows(...) or columns(...)}}
  fagpu.store %x, %m[%i, %i] rows(%i) padded via(%via : !st) : tensor<64x64xbf16, #fagpu.acc<4>> into memref<?x?xbf16>
  return
}

// -----

!st = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @f(%x: tensor<64x64xbf16, #fagpu.acc<4>>, %m: memref<?x?xbf16>, %i: i32) {
  // expected-error @below {{'fagpu.store' op is padded, but threads write all of a box below rows(...) and columns(...); expected via(...) a channel of the engine 'tma_store'}}
  fagpu.store %x, %m[%i, %i] padded : tensor<64x64xbf16, #fagpu.acc<4>> into memref<?x?xbf16>
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!col = tensor<128xf32, #fagpu.col<4>>
!quad = tensor<64x4xf32, #fagpu.quad<4>>
func.func @f(%x: tensor<64x128xi32, #fagpu.acc<4>>) {
  // expected-error @below {{'fagpu.reduce' op reduces 'i32', expected f32}}
  %y = fagpu.reduce add %x : tensor<64x128xi32, #fagpu.acc<4>> -> tensor<64xi32, #fagpu.row<4>>
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!col = tensor<128xf32, #fagpu.col<4>>
!quad = tensor<64x4xf32, #fagpu.quad<4>>
func.func @f(%x: !acc) {
  // expected-error @below {{'fagpu.reduce' op has 0 chains, expected at least 1}}
  %y = fagpu.reduce add %x chains(0) : !acc -> !row
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!col = tensor<128xf32, #fagpu.col<4>>
!quad = tensor<64x4xf32, #fagpu.quad<4>>
func.func @f(%x: !col) {
  // expected-error @below {{'fagpu.broadcast' op goes from 'tensor<128xf32, #fagpu.col<4>>' to 'tensor<64x4xf32, #fagpu.quad<4>>', expected row to acc, row to quad or col to acc, of the same rows or columns, elements and warps}}
  %y = fagpu.broadcast %x : !col -> !quad
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!col = tensor<128xf32, #fagpu.col<4>>
!quad = tensor<64x4xf32, #fagpu.quad<4>>
func.func @f() {
  // expected-error @below {{'fagpu.iota' op is along dimension 2 of 'tensor<64x128xi32, #fagpu.acc<4>>', expected 0 to 1}}
  %y = fagpu.iota 2 : tensor<64x128xi32, #fagpu.acc<4>>
  return
}

// -----

func.func @f(%first: tensor<64xi32, #fagpu.row<4>>) {
  // expected-error @below {{'fagpu.between' op goes from 'tensor<64xi32, #fagpu.row<4>>' to 'tensor<128x128xi1, #fagpu.acc<4>>', expected row to acc, of the same rows and warps}}
  %y = fagpu.between %first, %first : tensor<64xi32, #fagpu.row<4>> -> tensor<128x128xi1, #fagpu.acc<4>>
  return
}

// -----

func.func @f(%first: tensor<64x1xi32>) {
  // expected-error @below {{'fagpu.between' op goes from 'tensor<64x1xi32>' to 'tensor<64x128xi1>', expected row to acc, of the same rows and warps}}
  %y = fagpu.between %first, %first : tensor<64x1xi32> -> tensor<64x128xi1>
  return
}

// -----

func.func @f(%n: i32) {
  // expected-error @below {{'fagpu.dropout' op makes 'tensor<64x128xf32>', expected a matrix of i1 in layout #fagpu.acc}}
  %y = fagpu.dropout %n words(%n, %n) counter(%n, %n) at(%n, %n) whole : tensor<64x128xf32>
  return
}

// -----

func.func @f(%n: i32) {
  // expected-error @below {{'fagpu.dropout' op makes 'tensor<64xi1, #fagpu.row<4>>', expected a matrix of i1 in layout #fagpu.acc}}
  %y = fagpu.dropout %n words(%n, %n) counter(%n, %n) at(%n, %n) whole : tensor<64xi1, #fagpu.row<4>>
  return
}

// -----

func.func @f(%n: i32) {
  %eight = arith.constant 8 : i32
  // expected-error @below {{'fagpu.dropout' op is 'whole' from a query that is no multiple of 16; leave out 'whole'}}
  %y = fagpu.dropout %n words(%n, %n) counter(%n, %n) at(%eight, %n) whole : tensor<64x128xi1>
  return
}

// -----

func.func @f(%n: i32) {
  %odd = arith.constant 17 : i32
  // expected-error @below {{'fagpu.dropout' op is 'whole' from a key that is no multiple of 16; leave out 'whole'}}
  %y = fagpu.dropout %n words(%n, %n) counter(%n, %n) at(%n, %odd) whole : tensor<64x128xi1>
  return
}

// -----

func.func @f(%first: tensor<64xf32, #fagpu.row<4>>) {
  // expected-error @below {{'fagpu.between' op goes from 'tensor<64xf32, #fagpu.row<4>>' to 'tensor<64x128xi1, #fagpu.acc<4>>', expected i32 to i1}}
  %y = fagpu.between %first, %first : tensor<64xf32, #fagpu.row<4>> -> tensor<64x128xi1, #fagpu.acc<4>>
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!col = tensor<128xf32, #fagpu.col<4>>
!quad = tensor<64x4xf32, #fagpu.quad<4>>
func.func @f() {
  // expected-error @below {{'fagpu.iota' op makes 'f32', expected i32}}
  %y = fagpu.iota 0 : !acc
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!col = tensor<128xf32, #fagpu.col<4>>
!quad = tensor<64x4xf32, #fagpu.quad<4>>
func.func @f(%x: !acc) {
  // expected-error @below {{'fagpu.convert' op goes from 'tensor<64x128xf32, #fagpu.acc<4>>' to 'tensor<64xf32, #fagpu.row<4>>', expected the same shape and elements}}
  %y = fagpu.convert %x : !acc -> !row
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!col = tensor<128xf32, #fagpu.col<4>>
!quad = tensor<64x4xf32, #fagpu.quad<4>>
func.func @f(%x: !fagpu.view<64xf32, #fagpu.smem<0>>) {
  // expected-error @below {{'fagpu.load' op reads '!fagpu.view<64xf32, #fagpu.smem<0>>' into 'tensor<128xf32, #fagpu.col<4>>', expected the same shape and elements}}
  %y = fagpu.load %x : !fagpu.view<64xf32, #fagpu.smem<0>> -> !col
  return
}

// -----

func.func @f(%m: memref<?x?xi32>, %n: i32) {
  // expected-error @below {{'fagpu.extremes' op has 1 indices into 'memref<?x?xi32>', expected 2}}
  %x, %y = fagpu.extremes %m[%n] 128 count(%n) : memref<?x?xi32>
  return
}

// -----

func.func @f(%m: memref<?xi32, strided<[2]>>, %n: i32) {
  // expected-error @below {{'fagpu.extremes' op reads 'memref<?xi32, strided<[2]>>', expected elements of the last dimension beside each other}}
  %x, %y = fagpu.extremes %m[%n] 128 count(%n) : memref<?xi32, strided<[2]>>
  return
}

// -----

func.func @f(%m: memref<?xf16>, %i: tensor<64x8xi32, #fagpu.acc<4>>) {
  // expected-error @below {{'fagpu.gather' op reads elements of 'memref<?xf16>' into 'tensor<64x8xf32, #fagpu.acc<4>>', expected the same elements}}
  %x = fagpu.gather %m[%i] : memref<?xf16>[tensor<64x8xi32, #fagpu.acc<4>>] -> tensor<64x8xf32, #fagpu.acc<4>>
  return
}

// -----

func.func @f(%m: memref<?x?xf32>, %i: tensor<64x8xi32, #fagpu.acc<4>>) {
  // expected-error @below {{'fagpu.gather' op has 1 indices into 'memref<?x?xf32>', expected 2}}
  %x = fagpu.gather %m[%i] : memref<?x?xf32>[tensor<64x8xi32, #fagpu.acc<4>>] -> tensor<64x8xf32, #fagpu.acc<4>>
  return
}

// -----

func.func @f(%m: memref<?xf32>, %i: tensor<64xi32, #fagpu.row<4>>) {
  // expected-error @below {{'fagpu.gather' op has index 0 of type 'tensor<64xi32, #fagpu.row<4>>', expected i32 or i32 elements in the shape and layout of the result 'tensor<64x8xf32, #fagpu.acc<4>>'}}
  %x = fagpu.gather %m[%i] : memref<?xf32>[tensor<64xi32, #fagpu.row<4>>] -> tensor<64x8xf32, #fagpu.acc<4>>
  return
}

// -----

func.func @f(%m: memref<?xf32>, %i: tensor<64x8xi32, #fagpu.acc<4>>) {
  // expected-error @below {{'fagpu.gather' op has a mask of type 'tensor<64x8xi32, #fagpu.acc<4>>', expected i1 elements in the shape and layout of the result 'tensor<64x8xf32, #fagpu.acc<4>>'}}
  %x = fagpu.gather %m[%i] mask(%i : tensor<64x8xi32, #fagpu.acc<4>>) : memref<?xf32>[tensor<64x8xi32, #fagpu.acc<4>>] -> tensor<64x8xf32, #fagpu.acc<4>>
  return
}

// -----

func.func @host(%n: index) {
  // expected-error @below {{'fagpu.launch' op runs @absent, expected a func.func with the attribute 'fagpu.kernel'}}
  fagpu.launch @absent grid(%n) ()
  return
}

// -----

func.func @helper() {
  return
}
func.func @host(%n: index) {
  // expected-error @below {{'fagpu.launch' op runs @helper, expected a func.func with the attribute 'fagpu.kernel'}}
  fagpu.launch @helper grid(%n) ()
  return
}

// -----

func.func @kernel(%x: f32) attributes {fagpu.kernel = "sm_80"} {
  return
}
func.func @host(%n: index) {
  // expected-error @below {{'fagpu.launch' op passes 0 arguments, but @kernel takes 1}}
  fagpu.launch @kernel grid(%n) ()
  return
}

// -----

func.func @kernel(%x: f32) attributes {fagpu.kernel = "sm_80"} {
  return
}
func.func @host(%n: index) {
  // expected-error @below {{'fagpu.launch' op passes 'index' as argument 0, but @kernel takes 'f32'}}
  fagpu.launch @kernel grid(%n) (%n) : index
  return
}

// -----

func.func @kernel() attributes {fagpu.kernel = "sm_80"} {
  return
}
func.func @host(%n: index) {
  // expected-error @below {{'fagpu.launch' op has a grid of 4 sizes, expected 1 to 3}}
  fagpu.launch @kernel grid(%n, %n, %n, %n) ()
  return
}

// -----

func.func @kernel(%n: index) attributes {fagpu.kernel = "sm_80"} {
  // expected-error @below {{'fagpu.launch' op stands in the kernel '@kernel', expected a function of the host side}}
  fagpu.launch @kernel grid(%n) (%n) : index
  return
}

// -----

func.func @host() {
  // expected-error @below {{'fagpu.counter' op makes 'memref<9xi32>', expected 1 to 8 words}}
  %counter = fagpu.counter : memref<9xi32>
  return
}

// -----

func.func @kernel() attributes {fagpu.kernel = "sm_80"} {
  // expected-error @below {{'fagpu.counter' op stands in the kernel '@kernel', expected a function of the host side}}
  %counter = fagpu.counter : memref<2xi32>
  return
}

// -----

func.func @kernel(%n: index) attributes {fagpu.kernel = "sm_80"} {
  // expected-error @below {{'fagpu.workspace' op stands in the kernel '@kernel', expected a function of the host side}}
  %table = fagpu.workspace(%n) : memref<?xi32>
  return
}

// -----

func.func @host(%n: index) {
  // expected-error @below {{'fagpu.workspace' op has 1 sizes, but 'memref<?x?xi32>' has 2 dynamic dimensions}}
  %table = fagpu.workspace(%n) : memref<?x?xi32>
  return
}

// -----

func.func @host(%n: index) {
  // expected-error @below {{'fagpu.workspace' op makes 'memref<?xi32, strided<[2]>>', expected contiguous memory}}
  %table = fagpu.workspace(%n) : memref<?xi32, strided<[2]>>
  return
}

// -----

func.func @host(%n: index) {
  // expected-error @below {{'fagpu.workspace' op makes elements of 'index', whose size a launcher does not know, expected integers or floats; the nearest is i64}}
  %table = fagpu.workspace(%n) : memref<?xindex>
  return
}

// -----

func.func @vote(%x: tensor<64x16xi32, #fagpu.acc<4>>) {
  // expected-error @below {{'fagpu.any' op asks elements of 'i32', expected i1}}
  %any = fagpu.any %x : tensor<64x16xi32, #fagpu.acc<4>>
  return
}

// -----

func.func @kernel() attributes {fagpu.kernel = "sm_80"} {
  // expected-error @below {{'fagpu.multiprocessors' op stands in the kernel '@kernel', expected a function of the host side}}
  %count = fagpu.multiprocessors : index
  return
}

// -----

!x = tensor<64x128xf32, #fagpu.acc<4>>
func.func @pinned_value(%x: !x) {
  // expected-error @below {{'arith.negf' op 'fagpu.pinned' is 1 : i64, expected no value}}
  %y = arith.negf %x {fagpu.pinned = 1} : !x
  return
}

// -----

func.func @pinned_scalar(%x: f32) {
  // expected-error @below {{'arith.negf' op has 'fagpu.pinned', but no operand that is a block value; expected it on an operation that computes with one}}
  %y = arith.negf %x {fagpu.pinned} : f32
  return
}

// -----

!kv = !fagpu.view<24x64xbf16, #fagpu.smem<128>>
func.func @f(%q: !fagpu.view<64x64xbf16, #fagpu.smem<128>>, %k: !kv) {
  // expected-error @below {{'fagpu.mma' op makes 24 columns, expected a multiple of 16; nearest is 32}}
  %x = fagpu.mma nt %q, %k : !fagpu.view<64x64xbf16, #fagpu.smem<128>>, !kv -> tensor<64x24xf32, #fagpu.acc<4>>
  return
}

// -----

!kv = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
func.func @f(%p: tensor<64x64xbf16, #fagpu.opa<2>>, %k: !kv) {
  // expected-error @below {{'fagpu.mma' op has a first operand of layout #fagpu.opa<2>, expected the warps of its result, 4}}
  %x = fagpu.mma nt %p, %k : tensor<64x64xbf16, #fagpu.opa<2>>, !kv -> tensor<64x64xf32, #fagpu.acc<4>>
  return
}

// -----

func.func @f(%m: memref<?x?xf16>, %c: i32) {
  // expected-error @below {{'fagpu.fetch' op has 1 offsets and 2 sizes into 'memref<?x?xf16>', expected 2}}
  %x = fagpu.fetch %m[%c] [64, 64] : memref<?x?xf16> -> tensor<64x64xf16>
  return
}

// -----

func.func @f(%m: memref<?x?xf16>, %c: i32) {
  // expected-error @below {{'fagpu.fetch' op reads elements of 'memref<?x?xf16>' into 'tensor<64x64xbf16>', expected the same elements}}
  %x = fagpu.fetch %m[%c, %c] [64, 64] : memref<?x?xf16> -> tensor<64x64xbf16>
  return
}

// -----

func.func @f(%m: memref<?x?xf16>, %c: i32) {
  // expected-error @below {{'fagpu.fetch' op reads a box of 4096 elements, 64 a row, into 'tensor<64x128xf16>', expected as many}}
  %x = fagpu.fetch %m[%c, %c] [64, 64] : memref<?x?xf16> -> tensor<64x128xf16>
  return
}

// -----

func.func @f(%a: tensor<64x64xf16>, %b: tensor<64x32xf16>) {
  // expected-error @below {{'fagpu.product' op sums over 64 in its first operand, but over 32 in its second}}
  %x = fagpu.product nt %a, %b : tensor<64x64xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
  return
}

// -----

!v = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
func.func @f(%m: memref<?xf32>, %c: i32) {
  %ch = fagpu.channel tma : !v
  // expected-error @below {{'fagpu.put' op has columns(...) of a vector of 64, expected a matrix; rows(...) bounds a vector}}
  fagpu.put %ch, %m[%c] [64] columns(%c) : memref<?xf32> into !v
  return
}

// -----

func.func @f(%m: memref<?xf32>, %x: tensor<64xf32, #fagpu.row<4>>, %c: i32) {
  // expected-error @below {{'fagpu.store' op has columns(...) of a vector of 64, expected a matrix; rows(...) bounds a vector}}
  fagpu.store %x, %m[%c] columns(%c) : tensor<64xf32, #fagpu.row<4>> into memref<?xf32>
  return
}

// -----

func.func @f(%m: memref<?xf16>, %c: i32) {
  // expected-error @below {{'fagpu.fetch' op has columns(...) of a vector 'tensor<64xf16>', expected a matrix; rows(...) bounds a vector}}
  %x = fagpu.fetch %m[%c] [64] columns(%c) : memref<?xf16> -> tensor<64xf16>
  return
}

// -----

func.func @f(%m: memref<?x?xf16>, %c: i32) attributes {fagpu.kernel = "sm_80"} {
  // expected-error @below {{'fagpu.fetch' op stands in the kernel @f outside of its roles, expected it in a 'fagpu.role', whose warps run it}}
  %x = fagpu.fetch %m[%c, %c] [64, 64] : memref<?x?xf16> -> tensor<64x64xf16>
  return
}

// -----

func.func @f(%a: tensor<64x64xf16>) attributes {fagpu.kernel = "sm_80"} {
  // expected-error @below {{'fagpu.product' op stands in the kernel @f outside of its roles, expected it in a 'fagpu.role', whose warps run it}}
  %x = fagpu.product nt %a, %a : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @f(%m: memref<?x64xbf16>, %c: i32) {
  %ch = fagpu.channel cp_async : !t
  // expected-error @below {{'fagpu.put' op is aligned to 2 bytes, but the engine 'cp_async' copies at least 4 at once; the nearest is the engine 'loads'}}
  fagpu.put %ch, %m[%c, %c] [64, 64] align(2) : memref<?x64xbf16> into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @f(%m: memref<?x64xbf16>, %c: i32) {
  %ch = fagpu.channel tma : !t
  // expected-error @below {{'fagpu.put' op is aligned to 8 bytes, but the engine 'tma' copies at least 16 at once; the nearest is the engine 'cp_async'}}
  fagpu.put %ch, %m[%c, %c] [64, 64] align(8) : memref<?x64xbf16> into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @f(%m: memref<?x64xbf16>, %c: i32) {
  %ch = fagpu.channel tma : !t
  // expected-error @below {{'fagpu.put' op has l2_promotion(200), expected 0 (none), 64, 128 or 256 bytes; the nearest is 256}}
  fagpu.put %ch, %m[%c, %c] [64, 64] l2_promotion(200) : memref<?x64xbf16> into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @f(%m: memref<?x64xbf16>, %c: i32) {
  %ch = fagpu.channel cp_async : !t
  // expected-error @below {{'fagpu.put' op has l2_promotion(64), which the engine 'cp_async' does not do; leave it out, or take the engine 'tma'}}
  fagpu.put %ch, %m[%c, %c] [64, 64] l2_promotion(64) : memref<?x64xbf16> into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @f(%m: memref<?x64xbf16>, %c: i32) {
  %ch = fagpu.channel cp_async : !t
  // expected-error @below {{'fagpu.put' op has cache(evict_first), which the engine 'cp_async' does not do; leave it out, or take the engine 'tma'}}
  fagpu.put %ch, %m[%c, %c] [64, 64] cache(evict_first) : memref<?x64xbf16> into !t
  return
}

// -----

#acc = #fagpu.acc<4>
func.func @f(%x: tensor<64x64xbf16, #acc>, %m: memref<?x64xbf16>, %c: i32) {
  // expected-error @below {{'fagpu.store' op has cache(evict_last), which threads do not do; leave it out, or take the engine 'tma_store'}}
  fagpu.store %x, %m[%c, %c] cache(evict_last) : tensor<64x64xbf16, #acc> into memref<?x64xbf16>
  return
}

// -----

#acc = #fagpu.acc<4>
!t = !fagpu.channel<64x64xf32, #fagpu.smem<128>, 1>
func.func @f(%x: tensor<64x64xf32, #acc>, %m: memref<?x64xf32>, %c: i32) {
  %ch = fagpu.channel tma_store : !t
  // expected-error @below {{'fagpu.store' op has cache(evict_first) and add, expected one of them}}
  fagpu.store %x, %m[%c, %c] cache(evict_first) add via(%ch : !t) : tensor<64x64xf32, #acc> into memref<?x64xf32>
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @f(%m: memref<?x64xbf16>, %c: i32) {
  %ch = fagpu.channel loads : !t
  // expected-error @below {{'fagpu.put' op is aligned to 6 bytes, expected a power of two from 2, an element, to 16}}
  fagpu.put %ch, %m[%c, %c] [64, 64] align(6) : memref<?x64xbf16> into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!h = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @f(%m: memref<?x64xbf16>, %x: !h, %c: i32) {
  %ch = fagpu.channel tma_store : !t
  // expected-error @below {{'fagpu.store' op is aligned to 4 bytes, but the engine 'tma_store' copies at least 16 at once; the nearest is the engine 'threads'}}
  fagpu.store %x, %m[%c, %c] align(4) via(%ch : !t) : !h into memref<?x64xbf16>
  return
}

// -----

func.func @f(%m: memref<?x64xf32>, %x: tensor<64x64xf32, #fagpu.acc<4>>, %c: i32) {
  // expected-error @below {{'fagpu.store' op is aligned to 2 bytes, expected a power of two from 4, an element, to 16}}
  fagpu.store %x, %m[%c, %c] align(2) : tensor<64x64xf32, #fagpu.acc<4>> into memref<?x64xf32>
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!h = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @f(%x: !h) {
  %ch = fagpu.channel loads : !t
  // expected-error @below {{'fagpu.write' op uses a channel of the engine 'loads', expected 'threads'}}
  fagpu.write %ch, %x : !h into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @f(%m: memref<?x64xbf16>, %c: i32) {
  %ch = fagpu.channel cp_async : !t
  // expected-error @below {{'fagpu.put' op is padded, but the engine 'cp_async' copies only what is there; the nearest is the engine 'tma'}}
  fagpu.put %ch, %m[%c, %c] [64, 64] padded : memref<?x64xbf16> into !t
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @f(%m: memref<?x64xbf16>, %c: i32) {
  %ch = fagpu.channel tma : !t
  // expected-error @below {{'fagpu.put' op is padded at all ends of 'memref<?x64xbf16>', expected no rows(...) or columns(...)}}
  fagpu.put %ch, %m[%c, %c] [64, 64] rows(%c) padded : memref<?x64xbf16> into !t
  return
}

// -----

func.func @f(%m: memref<?x64xbf16>, %c: i32) {
  // expected-error @below {{'fagpu.fetch' op is padded at all ends of 'memref<?x64xbf16>', expected no rows(...) or columns(...)}}
  %x = fagpu.fetch %m[%c, %c] [64, 64] columns(%c) padded : memref<?x64xbf16> -> tensor<64x64xbf16>
  return
}

// -----

// expected-error @below {{'fagpu.cluster' is 3 : i64, expected 1, 2, 4 or 8}}
func.func @f() attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 3 : i64} {
  return
}

// -----

// expected-error @below {{'fagpu.cluster' is 2 : i64, but sm_80 has no clusters, expected 1}}
func.func @f() attributes {fagpu.kernel = "sm_80", fagpu.cluster = 2 : i64} {
  return
}

// -----

// expected-error @below {{has 'fagpu.cluster', expected it on a kernel}}
func.func @f() attributes {fagpu.cluster = 2 : i64} {
  return
}

// -----

func.func @f() attributes {fagpu.kernel = "sm_90a"} {
  // expected-error @below {{'fagpu.channel' op is multicast in a kernel of no clusters, expected 'fagpu.cluster' of 2, 4 or 8 on it}}
  %k = fagpu.channel tma multicast : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
  return
}

// -----

func.func @f() attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  // expected-error @below {{'fagpu.channel' op is multicast by the engine 'threads', expected 'tma'}}
  %k = fagpu.channel threads multicast : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
  return
}

// -----

func.func @f() attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 4 : i64} {
  // expected-error @below {{'fagpu.channel' op is multicast with tiles of 80x64, expected rows that are a multiple of 32, 8 for each block of a cluster}}
  %k = fagpu.channel tma multicast : !fagpu.channel<80x64xbf16, #fagpu.smem<128>, 2>
  return
}

// -----

// Blocks of a cluster fill the memory of one another, which shares it with
// nothing.

!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
func.func @f() attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %k = fagpu.channel tma multicast : !k
  // expected-error @below {{'fagpu.channel' op shares memory with a channel that all blocks of a cluster fill, expected memory of its own}}
  %o = fagpu.channel tma over(%k : !k) : !k
  return
}

// -----

!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
func.func @f() attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %q = fagpu.channel tma : !k
  // expected-error @below {{'fagpu.channel' op shares memory as a channel that all blocks of a cluster fill, expected memory of its own}}
  %k = fagpu.channel tma multicast over(%q : !k) : !k
  return
}

// -----

func.func @f(%m: memref<64x64xbf16>) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel tma multicast : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
  fagpu.role @load groups(1) elect {
    // expected-error @below {{'fagpu.put' op puts a part of a tile that all blocks of a cluster fill, expected a whole tile}}
    fagpu.put %k part(%c0, %c0), %m[%c0, %c0] [32, 64] : memref<64x64xbf16> into !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
  }
  return
}

// -----

func.func @f(%m: memref<2x32x64xbf16>) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel tma multicast : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
  fagpu.role @load groups(1) elect {
    // expected-error @below {{'fagpu.put' op puts 2 of dimension 0 to all blocks of a cluster, expected the 64 rows of the tile in one dimension}}
    fagpu.put %k, %m[%c0, %c0, %c0] [2, 32, 64] : memref<2x32x64xbf16> into !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
  }
  return
}

// -----

// expected-error @below {{'fagpu.deterministic' is unit, expected it without a value on a kernel}}
func.func @f() attributes {fagpu.deterministic} {
  return
}

// -----

!v = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
func.func @f(%m: memref<?xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %v = fagpu.channel tma : !v
  // expected-error @below {{'fagpu.put' op copies a vector in bulk with rows(...), padded, part(...) or l2_promotion(...), expected none of them: all of it is copied, from memory that is padded to whole vectors}}
  fagpu.put %v, %m[%n] [64] rows(%n) : memref<?xf32> into !v
  return
}

// -----

!v = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
func.func @f(%m: memref<?x?xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %v = fagpu.channel tma : !v
  // expected-error @below {{'fagpu.put' op moves a vector of 2x32, expected one piece of the last dimension}}
  fagpu.put %v, %m[%n, %n] [2, 32] : memref<?x?xf32> into !v
  return
}

// -----

!v = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
func.func @f(%m: memref<?xf32, strided<[2]>>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %v = fagpu.channel tma : !v
  // expected-error @below {{'fagpu.put' op moves a vector in 'memref<?xf32, strided<[2]>>', expected elements of the last dimension beside each other}}
  fagpu.put %v, %m[%n] [64] : memref<?xf32, strided<[2]>> into !v
  return
}

// -----

!v = !fagpu.channel<63xf32, #fagpu.smem<0>, 1>
func.func @f(%m: memref<?xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %v = fagpu.channel tma : !v
  // expected-error @below {{'fagpu.put' op moves a vector of 252 bytes, expected a multiple of 16; the nearest is 64 elements}}
  fagpu.put %v, %m[%n] [63] : memref<?xf32> into !v
  return
}

// -----

!v = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
func.func @f(%m: memref<100xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %v = fagpu.channel tma : !v
  // expected-error @below {{'fagpu.put' op moves a vector of 64 elements in a last dimension of 100, expected a multiple of them, as they are moved whole}}
  fagpu.put %v, %m[%n] [64] : memref<100xf32> into !v
  return
}

// -----

func.func @f(%x: tensor<64x64xbf16, #fagpu.acc<4>>, %m: memref<?x64xbf16>, %n: i32) {
  // expected-error @below {{'fagpu.store' op adds elements of 'bf16', expected f32}}
  fagpu.store %x, %m[%n, %n] add : tensor<64x64xbf16, #fagpu.acc<4>> into memref<?x64xbf16>
  return
}

// -----

!acc = tensor<64x64xf32, #fagpu.acc<4>>
func.func @exact(%m: memref<?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a", fagpu.deterministic} {
  fagpu.role @a groups(1) {
    %x = arith.constant dense<1.0> : !acc
    // expected-error @below {{'fagpu.store' op adds to memory in an order that a run decides, but @exact is 'fagpu.deterministic'; expected a plain store of what one group has summed up}}
    fagpu.store %x, %m[%n, %n] add : !acc into memref<?x64xf32>
  }
  return
}

// -----

!t = !fagpu.channel<64x64xf32, #fagpu.smem<128>, 1>
func.func @exact(%m: memref<?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a", fagpu.deterministic} {
  %t = fagpu.channel threads : !t
  fagpu.role @a groups(1) elect {
    %v = fagpu.acquire %t : !t
    // expected-error @below {{'fagpu.drain' op adds to memory in an order that a run decides, but @exact is 'fagpu.deterministic'}}
    fagpu.drain %v, %m[%n, %n] add : !fagpu.view<64x64xf32, #fagpu.smem<128>> into memref<?x64xf32>
    fagpu.release %v : !fagpu.view<64x64xf32, #fagpu.smem<128>>
  }
  return
}

// -----

!acc = tensor<64x64xf32, #fagpu.acc<4>>
func.func @exact(%m: memref<?xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a", fagpu.deterministic} {
  fagpu.role @a groups(1) {
    %x = arith.constant dense<1.0> : !acc
    // expected-error @below {{'fagpu.scatter_add' op adds to memory in an order that a run decides, but @exact is 'fagpu.deterministic'}}
    fagpu.scatter_add %x, %m[%n] : !acc into memref<?xf32>[i32]
  }
  return
}

// -----

func.func @f(%x: tensor<64xbf16, #fagpu.row<4>>, %m: memref<?xbf16>, %n: i32) {
  // expected-error @below {{'fagpu.scatter_add' op adds elements of 'tensor<64xbf16, #fagpu.row<4>>' to 'memref<?xbf16>', expected f32 on both sides}}
  fagpu.scatter_add %x, %m[%n] : tensor<64xbf16, #fagpu.row<4>> into memref<?xbf16>[i32]
  return
}

// -----

func.func @f(%x: tensor<64xf32, #fagpu.row<4>>, %m: memref<?x?xf32>, %n: i32) {
  // expected-error @below {{'fagpu.scatter_add' op has 1 indices into 'memref<?x?xf32>', expected 2}}
  fagpu.scatter_add %x, %m[%n] : tensor<64xf32, #fagpu.row<4>> into memref<?x?xf32>[i32]
  return
}

// -----

func.func @f(%x: tensor<64xf32, #fagpu.row<4>>, %m: memref<?xf32>, %i: tensor<64xi32, #fagpu.col<4>>) {
  // expected-error @below {{'fagpu.scatter_add' op has index 0 of type 'tensor<64xi32, #fagpu.col<4>>', expected i32 or i32 elements in the shape and layout of the value 'tensor<64xf32, #fagpu.row<4>>'}}
  fagpu.scatter_add %x, %m[%i] : tensor<64xf32, #fagpu.row<4>> into memref<?xf32>[tensor<64xi32, #fagpu.col<4>>]
  return
}

// -----

func.func @f(%x: tensor<64xf32, #fagpu.row<4>>, %m: memref<?xf32>, %i: tensor<64xi32, #fagpu.row<4>>) {
  // expected-error @below {{'fagpu.scatter_add' op has a mask of type 'tensor<64xi32, #fagpu.row<4>>', expected i1 elements in the shape and layout of the value 'tensor<64xf32, #fagpu.row<4>>'}}
  fagpu.scatter_add %x, %m[%i] mask(%i : tensor<64xi32, #fagpu.row<4>>) : tensor<64xf32, #fagpu.row<4>> into memref<?xf32>[tensor<64xi32, #fagpu.row<4>>]
  return
}

// -----

!acc = tensor<64x64xf32, #fagpu.acc<4>>
func.func @f(%x: !acc, %m: memref<?xf32>, %n: i32) {
  // expected-error @below {{'fagpu.store' op is transposed and stores 'tensor<64x64xf32, #fagpu.acc<4>>' in fragments, expected a matrix, not in fragments}}
  fagpu.store %x, %m[%n] sizes [4096] transposed fragments : !acc into memref<?xf32>
  return
}

// -----

!acc = tensor<64x64xf32, #fagpu.acc<4>>
func.func @f(%x: !acc, %m: memref<?x64xf32>, %n: i32) {
  // expected-error @below {{'fagpu.store' op stores by_words a tile, expected fragments, without via(...)}}
  fagpu.store %x, %m[%n, %n] by_words : !acc into memref<?x64xf32>
  return
}

// -----

!acc = tensor<64x64xf32, #fagpu.acc<4>>
!t = !fagpu.channel<4096xf32, #fagpu.smem<0>, 1>
func.func @f(%x: !acc, %m: memref<?xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %t = fagpu.channel tma_store : !t
  // expected-error @below {{'fagpu.store' op stores by_words via a channel, expected fragments, without via(...)}}
  fagpu.store %x, %m[%n] fragments by_words via(%t : !t) : !acc into memref<?xf32>
  return
}

// -----

!h = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @f(%x: !h, %m: memref<?xbf16>, %n: i32) {
  // expected-error @below {{'fagpu.store' op stores fragments of 'tensor<64x64xbf16, #fagpu.acc<4>>', expected f32 of layout #fagpu.acc}}
  fagpu.store %x, %m[%n] fragments : !h into memref<?xbf16>
  return
}

// -----

!acc = tensor<64x64xf32, #fagpu.acc<4>>
func.func @f(%x: !acc, %m: memref<?xf32>, %n: i32) {
  // expected-error @below {{'fagpu.store' op stores fragments with rows(...) or padded, expected none: all of them are stored}}
  fagpu.store %x, %m[%n] rows(%n) fragments : !acc into memref<?xf32>
  return
}

// -----

!acc = tensor<64x64xf32, #fagpu.acc<4>>
func.func @f(%x: !acc, %m: memref<?x64xf32>, %n: i32) {
  // expected-error @below {{'fagpu.store' op moves fragments of 64x64, expected one piece of the last dimension}}
  fagpu.store %x, %m[%n, %n] sizes [64, 64] fragments : !acc into memref<?x64xf32>
  return
}

// -----

!acc = tensor<64x64xf32, #fagpu.acc<4>>
!t = !fagpu.channel<64x64xf32, #fagpu.smem<128>, 1>
func.func @f(%x: !acc, %m: memref<?xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %t = fagpu.channel tma_store : !t
  // expected-error @below {{'fagpu.store' op stores 'tensor<64x64xf32, #fagpu.acc<4>>' via a channel of 64x64 x 'f32', expected 4096 x 'f32'}}
  fagpu.store %x, %m[%n] fragments via(%t : !t) : !acc into memref<?xf32>
  return
}

// -----

!acc = tensor<64x64xf32, #fagpu.acc<4>>
!t = !fagpu.channel<64x64xf32, #fagpu.smem<128>, 1>
func.func @f(%x: !acc, %m: memref<?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %t = fagpu.channel threads : !t
  // expected-error @below {{'fagpu.store' op uses a channel of the engine 'threads', expected 'tma_store'}}
  fagpu.store %x, %m[%n, %n] add via(%t : !t) : !acc into memref<?x64xf32>
  return
}

// -----

func.func @f(%v: !fagpu.view<4096xf32, #fagpu.smem<0>>) {
  // expected-error @below {{'fagpu.load' op reads fragments of '!fagpu.view<4096xf32, #fagpu.smem<0>>' into 'tensor<64x32xf32, #fagpu.acc<4>>', expected a vector of as many f32 and a result of layout #fagpu.acc}}
  %x = fagpu.load %v fragments : !fagpu.view<4096xf32, #fagpu.smem<0>> -> tensor<64x32xf32, #fagpu.acc<4>>
  return
}

// -----

!v = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!p = tensor<64x64xbf16, #fagpu.opa<4>>
func.func @f(%a: !p, %b: !v) attributes {fagpu.kernel = "sm_80"} {
  // expected-error @below {{'fagpu.mma' op has a first operand 'tensor<64x64xbf16, #fagpu.opa<4>>' in the form 'tn', expected a view of K x rows}}
  %x = fagpu.mma tn %a, %b : !p, !v -> tensor<64x64xf32, #fagpu.acc<4>>
  return
}

// -----

!v = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
func.func @f(%a: !v, %b: !v) attributes {fagpu.kernel = "sm_80"} {
  // expected-error @below {{'fagpu.mma_sum' op has the form 'tn', which only 'fagpu.mma_async' and 'fagpu.mma' have; expected 'nt' or 'nn'}}
  %x = fagpu.mma_sum tn [%a], [%b] pairs [0], [0] : (!v), (!v) -> tensor<64x64xf32, #fagpu.acc<4>>
  return
}

// -----

!v = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!p = tensor<64x64xbf16, #fagpu.opa<4>>
!f = !fagpu.inflight<tensor<64x64xf32, #fagpu.acc<4>> keeps !p>
func.func @f(%a: !p, %b: !v) attributes {fagpu.kernel = "sm_90a"} {
  // expected-error @below {{'fagpu.mma_async' op has a first operand 'tensor<64x64xbf16, #fagpu.opa<4>>' in the form 'tt', expected a view of K x 64}}
  %f = fagpu.mma_async tt %a, %b : !p, !v -> !f
  %x = fagpu.wait %f : !f
  return
}

// -----

func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  return
}
func.func @host(%n: index) {
  // expected-error @below {{'fagpu.launch' op is dependent, but @kernel does not wait for the launch ahead, expected 'fagpu.await_previous' in it}}
  fagpu.launch @kernel grid(%n) dependent ()
  return
}

// -----

func.func @host() {
  // expected-error @below {{'fagpu.await_previous' op stands outside of a kernel}}
  fagpu.await_previous
  return
}

// -----

func.func @kernel() attributes {fagpu.kernel = "sm_80"} {
  // expected-error @below {{'fagpu.release_dependents' op stands in a kernel of "sm_80", expected one of "sm_90a": launches of earlier chips do not overlap}}
  fagpu.release_dependents
  return
}

// -----

func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  fagpu.await_previous
  // expected-error @below {{'fagpu.await_previous' op stands in its kernel twice, expected once}}
  fagpu.await_previous
  return
}

// -----

func.func @kernel() attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @all groups(1) {
    // expected-error @below {{'fagpu.await_previous' op stands in 'fagpu.role', expected the body of the kernel, which all threads run}}
    fagpu.await_previous
  }
  return
}

// -----

func.func @kernel(%m: memref<4xi32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : index
  %x = memref.load %m[%c0] : memref<4xi32>
  // expected-error @below {{'fagpu.await_previous' op stands behind 'memref.load', which may access memory, expected it ahead}}
  fagpu.await_previous
  return
}

// -----

func.func @exchange_shape() attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math groups(2) {
    %x = arith.constant dense<1.0> : tensor<64x80xbf16>
    // expected-error @below {{'fagpu.exchange' op joins 'tensor<64x80xbf16>' of 2 groups into 'tensor<80x64xbf16>', expected a matrix, transposed, with the rows of all groups as its columns}}
    %all = fagpu.exchange %x : tensor<64x80xbf16> -> tensor<80x64xbf16>
  }
  return
}

// -----

func.func @fetch_fragments(%m: memref<?xbf16>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math groups(1) {
    // expected-error @below {{'fagpu.fetch' op reads fragments of 'bf16', expected f32 and all of the box}}
    %x = fagpu.fetch %m[%n] [4096] fragments : memref<?xbf16> -> tensor<64x64xbf16>
  }
  return
}

// -----

func.func @nan_by_threads(%m: memref<64x64xbf16>) attributes {fagpu.kernel = "sm_90"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : <64x64xbf16, #fagpu.smem<128>, 1>
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.put' op has 'fagpu.nan' and a channel of cp_async, expected tma or pages, which alone fill with NaN}}
    fagpu.put %t, %m[%c0, %c0] [64, 64] {fagpu.nan} : memref<64x64xbf16> into <64x64xbf16, #fagpu.smem<128>, 1>
  }
  return
}

// -----

func.func @nan_elsewhere(%a: f32) {
  // expected-error @below {{'arith.addf' op has 'fagpu.nan', expected it on a fagpu.put or fagpu.fetch}}
  %b = arith.addf %a, %a {fagpu.nan} : f32
  return
}

// -----

func.func @owned_by_arithmetic(%x: tensor<64xf32, #fagpu.row<4>>) {
  // expected-error @below {{'arith.negf' op 'fagpu.owned' is unit, expected it without a value on a fagpu.scatter_add}}
  %y = arith.negf %x {fagpu.owned} : tensor<64xf32, #fagpu.row<4>>
  return
}

// -----

func.func @owned_value(%x: tensor<64xf32, #fagpu.row<4>>, %m: memref<64xf32>, %i: tensor<64xi32, #fagpu.row<4>>) {
  // expected-error @below {{'fagpu.scatter_add' op 'fagpu.owned' is 1 : i64, expected it without a value on a fagpu.scatter_add}}
  fagpu.scatter_add %x, %m[%i] {fagpu.owned = 1} : tensor<64xf32, #fagpu.row<4>> into memref<64xf32>[tensor<64xi32, #fagpu.row<4>>]
  return
}

// -----

func.func @told_elsewhere(%a: i32) {
  // expected-error @below {{'arith.addi' op 'fagpu.told_at' is 4 : i32, expected the i32 of a word in shared memory, a multiple of 4 bytes, on a fagpu.ticket}}
  %b = arith.addi %a, %a {fagpu.told_at = 4 : i32} : i32
  return
}

// -----

func.func @told_between_words(%c: memref<2xi32>) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @r groups(1) elect {
    // expected-error @below {{'fagpu.ticket' op 'fagpu.told_at' is 6 : i32, expected the i32 of a word in shared memory, a multiple of 4 bytes, on a fagpu.ticket}}
    %t = fagpu.ticket %c {fagpu.told_at = 6 : i32} : memref<2xi32>
  }
  return
}

// -----

func.func @told_by_name(%c: memref<2xi32>) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @r groups(1) elect {
    // expected-error @below {{'fagpu.ticket' op 'fagpu.told_at' is "here", expected the i32 of a word in shared memory, a multiple of 4 bytes, on a fagpu.ticket}}
    %t = fagpu.ticket %c {fagpu.told_at = "here"} : memref<2xi32>
  }
  return
}

// -----

func.func @all_threads_by_lanes() attributes {fagpu.kernel = "sm_90a"} {
  // expected-error @below {{'fagpu.role' op 'fagpu.run_by_lanes' is unit, expected it without a value on a fagpu.role of one thread (elect)}}
  fagpu.role @r groups(1) attributes {fagpu.run_by_lanes} {
  }
  return
}

// -----

func.func @some_by_lanes() attributes {fagpu.kernel = "sm_90a"} {
  // expected-error @below {{'fagpu.role' op 'fagpu.run_by_lanes' is 8 : i64, expected it without a value on a fagpu.role of one thread (elect)}}
  fagpu.role @r groups(1) elect attributes {fagpu.run_by_lanes = 8} {
  }
  return
}

// -----

func.func @f(%v: !fagpu.view<64x32xbf16, #fagpu.smem<64>>) {
  // expected-error @below {{'fagpu.load' op reads '!fagpu.view<64x32xbf16, #fagpu.smem<64>>' into 'tensor<64x32xbf16, #fagpu.acc<4>>', expected its columns as rows}}
  %x = fagpu.load %v {fagpu.transposed} : !fagpu.view<64x32xbf16, #fagpu.smem<64>> -> tensor<64x32xbf16, #fagpu.acc<4>>
  return
}

// -----

func.func @f(%v: !fagpu.view<64x32xf32, #fagpu.smem<128>>) {
  // expected-error @below {{'fagpu.load' op reads '!fagpu.view<64x32xf32, #fagpu.smem<128>>' transposed, expected a matrix of 16-bit elements}}
  %x = fagpu.load %v {fagpu.transposed} : !fagpu.view<64x32xf32, #fagpu.smem<128>> -> tensor<32x64xf32, #fagpu.acc<2>>
  return
}

// -----

func.func @f(%v: !fagpu.view<4096xf32, #fagpu.smem<0>>) {
  // expected-error @below {{'fagpu.load' op reads fragments transposed, expected a matrix of 16-bit elements, without fragments}}
  %x = fagpu.load %v fragments {fagpu.transposed} : !fagpu.view<4096xf32, #fagpu.smem<0>> -> tensor<64x64xf32, #fagpu.acc<4>>
  return
}

// -----

func.func @f(%v: !fagpu.view<64x32xbf16, #fagpu.smem<64>>) {
  // expected-error @below {{'fagpu.load' op 'fagpu.transposed' is 1 : i64, expected it without a value on a fagpu.fetch or fagpu.load}}
  %x = fagpu.load %v {fagpu.transposed = 1} : !fagpu.view<64x32xbf16, #fagpu.smem<64>> -> tensor<32x64xbf16, #fagpu.acc<2>>
  return
}

// -----

func.func @f(%m: memref<?x64xf32>, %i: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math groups(1) {
    // expected-error @below {{'fagpu.fetch' op is transposed into 'tensor<64xf32>', expected a matrix of 16-bit elements, without fragments and pages}}
    %x = fagpu.fetch %m[%i, %i] [1, 64] {fagpu.transposed} : memref<?x64xf32> -> tensor<64xf32>
  }
  return
}
