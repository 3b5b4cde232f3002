// RUN: fa-opt %s -convert-fagpu-to-nvvm -split-input-file -verify-diagnostics

// What has no lowering, or lacks what an earlier pass says: one message each.

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @no_stage(%m: memref<64x64xbf16>) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma offset(0) barriers(8192) arrivals [1, 1] : !t
  fagpu.role @a groups(1) elect {
    // expected-error @below {{'fagpu.put' op has no stage(...); run fagpu-assign-stages before}}
    fagpu.put %t, %m[%c0, %c0] [64, 64] : memref<64x64xbf16> into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @no_offset(%m: memref<64x64xbf16>) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  // expected-error @below {{'fagpu.channel' op has no offset(...); run fagpu-plan-resources before}}
  %t = fagpu.channel tma : !t
  fagpu.role @a groups(1) elect {
    fagpu.put %t, %m[%c0, %c0] [64, 64] stage(%c0, %c0) : memref<64x64xbf16> into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @all_threads_put(%m: memref<64x64xbf16>) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma offset(0) barriers(8192) arrivals [1, 1] : !t
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.put' op copies in bulk in @a, a role of 128 threads, expected a role with 'elect'}}
    fagpu.put %t, %m[%c0, %c0] [64, 64] stage(%c0, %c0) : memref<64x64xbf16> into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @no_barriers(%m: memref<64x64xbf16>) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  // expected-error @below {{'fagpu.channel' op has no barriers(...); run fagpu-plan-resources before}}
  %t = fagpu.channel tma offset(0) : !t
  fagpu.role @a groups(1) elect {
    fagpu.put %t, %m[%c0, %c0] [64, 64] stage(%c0, %c0) : memref<64x64xbf16> into !t
  }
  return
}

// -----

!mail = !fagpu.mail<1, i32>
func.func @all_threads_send(%n: i32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %mail = fagpu.mail offset(0) barriers(16) arrivals [1, 1] : !mail
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.send' op sends in @a, a role of 128 threads, expected a role with 'elect'}}
    fagpu.send %mail, %n stage(%c0, %c0) : !mail
  }
  return
}

// -----

!mail = !fagpu.mail<1, i32>
func.func @receive_no_plan() attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  // expected-error @below {{'fagpu.mail' op has no offset(...); run fagpu-plan-resources before}}
  %mail = fagpu.mail : !mail
  fagpu.role @a groups(1) {
    %n = fagpu.recv %mail stage(%c0, %c0) : !mail
  }
  return
}

// -----

func.func @turns_no_plan() attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  // expected-error @below {{'fagpu.turns' op has no barrier(...); run fagpu-plan-resources before}}
  %turns = fagpu.turns 2 : !fagpu.turns
  fagpu.role @a groups(2) {
    fagpu.take %turns : !fagpu.turns
    fagpu.pass %turns : !fagpu.turns
  }
  return
}

// -----

!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!s = tensor<64x64xf32, #fagpu.acc<4>>
func.func @wait_not_counted(%v: !view) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  fagpu.role @a groups(1) {
    %f = fagpu.mma_async nt %v, %v : !view, !view -> !fagpu.inflight<!s>
    // expected-error @below {{'fagpu.wait' op has no pending(...); run fagpu-assign-waits before}}
    %s = fagpu.wait %f : !fagpu.inflight<!s>
  }
  return
}

// -----

func.func @loop(%n: i32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c1 = arith.constant true
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.repeat' op has no lowering of its own; run fagpu-pipeline before}}
    fagpu.repeat {
      fagpu.yield %c1 : i1
    }
  }
  return
}

// -----

!s = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @fetched(%m: memref<64x64xbf16>) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.fetch' op does not say how operands reach the threads; run fagpu-form-channels before}}
    %s = fagpu.fetch %m[%c0, %c0] [64, 64] : memref<64x64xbf16> -> !s
  }
  return
}

// -----

!t = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
func.func @drained(%m: memref<64xf32>) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel threads offset(0) barriers(256) arrivals [1, 1] : !t
  fagpu.role @a groups(1) elect {
    %v = fagpu.acquire %t stage(%c0, %c0) : !t
    // expected-error @below {{'fagpu.drain' op copies a tile '!fagpu.view<64xf32, #fagpu.smem<0>>' in bulk, expected elements of 16 or 32 bits and a swizzle of 32, 64 or 128 bytes}}
    fagpu.drain %v, %m[%c0] : !fagpu.view<64xf32, #fagpu.smem<0>> into memref<64xf32>
    fagpu.release %v : !fagpu.view<64xf32, #fagpu.smem<0>>
  }
  return
}

// -----

!h = tensor<64x8xbf16, #fagpu.acc<4>>
func.func @packed_arithmetic(%x: f32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  fagpu.role @a groups(1) {
    %f = tensor.splat %x : tensor<64x8xf32, #fagpu.acc<4>>
    %h = arith.truncf %f : tensor<64x8xf32, #fagpu.acc<4>> to !h
    // expected-error @below {{'arith.addf' op computes on 'tensor<64x8xbf16, #fagpu.acc<4>>', expected 32-bit elements: arith.extf before it, and arith.truncf after it}}
    %s = arith.addf %h, %h : !h
  }
  return
}

// -----

func.func @packed_splat(%x: bf16) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  fagpu.role @a groups(1) {
    // expected-error @below {{'tensor.splat' op computes on 'tensor<64x8xbf16, #fagpu.acc<4>>', expected 32-bit elements}}
    %h = tensor.splat %x : tensor<64x8xbf16, #fagpu.acc<4>>
  }
  return
}

// -----

func.func @double_truncated(%x: f64) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  fagpu.role @a groups(1) {
    %f = tensor.splat %x : tensor<64x8xf64, #fagpu.acc<4>>
    // expected-error @below {{'arith.truncf' op converts between 'tensor<64x8xbf16, #fagpu.acc<4>>' and 'f64', expected f32}}
    %h = arith.truncf %f : tensor<64x8xf64, #fagpu.acc<4>> to tensor<64x8xbf16, #fagpu.acc<4>>
  }
  return
}

// -----

!row = tensor<64xf32, #fagpu.row<4>>
func.func @not_a_splat() attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  fagpu.role @a groups(1) {
    // expected-error @below {{'arith.constant' op holds a value for each element of 'tensor<64xi32, #fagpu.row<4>>', expected one for all; a table is read by memref.get_global and fagpu.gather}}
    %c = arith.constant dense<"0x00000000010000000200000003000000040000000500000006000000070000000800000009000000000000000100000002000000030000000400000005000000060000000700000008000000090000000000000001000000020000000300000004000000050000000600000007000000080000000900000000000000010000000200000003000000040000000500000006000000070000000800000009000000000000000100000002000000030000000400000005000000060000000700000008000000090000000000000001000000020000000300000004000000050000000600000007000000080000000900000000000000010000000200000003000000"> : tensor<64xi32, #fagpu.row<4>>
  }
  return
}

// -----

func.func @other_operation(%x: f32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  fagpu.role @a groups(1) {
    %c0 = arith.constant 0 : index
    %f = tensor.splat %x : tensor<64x8xf32, #fagpu.acc<4>>
    // expected-error @below {{'tensor.extract' op on block values has no lowering; expected an elementwise operation of arith or math with one result, tensor.splat, scf.if, scf.for or scf.while, or one of fagpu}}
    %e = tensor.extract %f[%c0, %c0] : tensor<64x8xf32, #fagpu.acc<4>>
  }
  return
}

// -----

!b = tensor<64xi1, #fagpu.row<4>>
func.func @pinned_bits(%x: i1) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  fagpu.role @a groups(1) {
    %b = tensor.splat %x : !b
    // expected-error @below {{'fagpu.pin' op keeps 'tensor<64xi1, #fagpu.row<4>>' in place, expected f32, i32, f16 or bf16}}
    %p = fagpu.pin %b : !b
  }
  return
}

// -----

func.func @store_from_quad(%m: memref<64x4xf32>, %x: f32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) {
    %f = tensor.splat %x : tensor<64x4xf32, #fagpu.quad<4>>
    // expected-error @below {{'fagpu.store' op stores 'tensor<64x4xf32, #fagpu.quad<4>>' from registers, expected f32, f16 or bf16 in #fagpu.acc, or f32 in #fagpu.row}}
    fagpu.store %f, %m[%c0, %c0] : tensor<64x4xf32, #fagpu.quad<4>> into memref<64x4xf32>
  }
  return
}

// -----

func.func @vector_sizes(%m: memref<4x4x4xf32>, %x: f32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) {
    %f = tensor.splat %x : tensor<64xf32, #fagpu.row<4>>
    // expected-error @below {{'fagpu.store' op stores 64 rows along 3 dimensions by threads, expected at most 2; on sm_90a a channel of the engine tma_store takes several}}
    fagpu.store %f, %m[%c0, %c0, %c0] sizes [4, 4, 4] : tensor<64xf32, #fagpu.row<4>> into memref<4x4x4xf32>
  }
  return
}

// -----

!t = !fagpu.channel<64x64xf32, #fagpu.smem<0>, 1>
!s = tensor<64x64xf32, #fagpu.acc<4>>
func.func @write_f32(%x: f32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel threads offset(0) : !t
  fagpu.role @a groups(1) {
    %f = tensor.splat %x : !s
    // expected-error @below {{'fagpu.write' op writes to '!fagpu.channel<64x64xf32, #fagpu.smem<0>, 1>', expected 16-bit elements and a swizzle of 32, 64 or 128 bytes}}
    fagpu.write %t, %f stage(%c0, %c0) : !s into !t
  }
  return
}

// -----

!t = !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 1>
!h = tensor<128x128xbf16, #fagpu.acc<8>>
func.func @write_transposed(%x: f32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 32768} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel threads offset(0) : !t
  fagpu.role @a groups(1) warps(8) {
    %f = tensor.splat %x : tensor<128x128xf32, #fagpu.acc<8>>
    %h = arith.truncf %f : tensor<128x128xf32, #fagpu.acc<8>> to !h
    // expected-error @below {{'fagpu.write' op writes a transposed value of 8 warps, expected at most 4}}
    fagpu.write %t, %h transposed stage(%c0, %c0) : !h into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!h = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @load_of_argument(%v: !view) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.load' op reads a view that is not acquired and released in one block, expected both beside the load}}
    %h = fagpu.load %v : !view -> !h
  }
  return
}

// -----

!view = !fagpu.view<64xbf16, #fagpu.smem<0>>
func.func @load_narrow_vector(%v: !view) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.load' op reads a vector from '!fagpu.view<64xbf16, #fagpu.smem<0>>', expected 32-bit elements and #fagpu.smem<0>}}
    %h = fagpu.load %v : !view -> tensor<64xbf16, #fagpu.row<4>>
  }
  return
}

// -----

!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!half = !fagpu.view<32x64xbf16, #fagpu.smem<128>>
func.func @slice_released(%v: !view) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.slice' op is used by 'fagpu.release', expected 'fagpu.mma_async', 'fagpu.mma', 'fagpu.mma_sum', 'fagpu.load' or 'fagpu.slice'}}
    %h = fagpu.slice %v[%c0, %c0] : !view to !half
    fagpu.release %h : !half
  }
  return
}

// -----

func.func @memory_added_to(%m: memref<64xf32>, %x: f32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : index
  fagpu.role @a groups(1) {
    // expected-error @below {{'memref.atomic_rmw' op uses memory of the kernel, argument 0, expected memref.load, memref.store, memref.dim, vector.load, vector.store, fagpu.put, fagpu.store, fagpu.gather, fagpu.scatter_add, fagpu.extremes, fagpu.ticket or fagpu.retire}}
    %y = memref.atomic_rmw addf %x, %m[%c0] : (f32, memref<64xf32>) -> f32
  }
  return
}

// -----

// Rows of four warps are 64 columns, of which a panel has 32.
!t = !fagpu.channel<64x64xbf16, #fagpu.smem<64>, 1>
!h = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @write_transposed_panel(%x: f32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 32768} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel threads offset(0) : !t
  fagpu.role @a groups(1) {
    %f = tensor.splat %x : tensor<64x64xf32, #fagpu.acc<4>>
    %h = arith.truncf %f : tensor<64x64xf32, #fagpu.acc<4>> to !h
    // expected-error @below {{'fagpu.write' op writes a transposed value of 4 warps, expected at most 2}}
    fagpu.write %t, %h transposed stage(%c0, %c0) : !h into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!v = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!w = !fagpu.view<32x64xbf16, #fagpu.smem<128>>
func.func @drained_slice(%m: memref<32x64xbf16>) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel threads offset(0) barriers(8192) arrivals [1, 1] : !t
  fagpu.role @a groups(1) elect {
    %v = fagpu.acquire %t stage(%c0, %c0) : !t
    // expected-error @below {{'fagpu.slice' op is used by 'fagpu.drain', expected 'fagpu.mma_async', 'fagpu.mma', 'fagpu.mma_sum', 'fagpu.load' or 'fagpu.slice'}}
    %s = fagpu.slice %v[%c0, %c0] : !v to !w
    fagpu.drain %s, %m[%c0, %c0] : !w into memref<32x64xbf16>
    fagpu.release %v : !v
  }
  return
}

// -----

!t = !fagpu.channel<64x32xi32, #fagpu.smem<128>, 1>
!v = !fagpu.view<64x32xi32, #fagpu.smem<128>>
func.func @drained_integers(%m: memref<64x32xi32>) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel threads offset(0) barriers(8192) arrivals [1, 1] : !t
  fagpu.role @a groups(1) elect {
    %v = fagpu.acquire %t stage(%c0, %c0) : !t
    // expected-error @below {{'fagpu.drain' op adds elements of 'i32' in bulk, expected f32, f16 or bf16}}
    fagpu.drain %v, %m[%c0, %c0] add : !v into memref<64x32xi32>
    fagpu.release %v : !v
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!h = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @write_transposed_copy(%x: f32) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 32768} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async offset(0) : !t
  fagpu.role @a groups(1) {
    %f = tensor.splat %x : tensor<64x64xf32, #fagpu.acc<4>>
    %h = arith.truncf %f : tensor<64x64xf32, #fagpu.acc<4>> to !h
    // expected-error @below {{'fagpu.write' op writes a transposed value to a channel of the engine 'cp_async', expected 'threads'}}
    fagpu.write %t, %h transposed stage(%c0, %c0) : !h into !t
  }
  return
}

// -----

!h = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @store_transposed(%m: memref<?x64xbf16>, %n: i32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 1024} {
  fagpu.role @a groups(1) {
    %x = arith.constant dense<1.0> : !h
    // expected-error @below {{'fagpu.store' op is transposed, expected f32, or via(...) a channel of the engine 'tma_store'}}
    fagpu.store %x, %m[%n, %n] transposed : !h into memref<?x64xbf16>
  }
  return
}

// -----

!x = tensor<64x64xf32, #fagpu.acc<4>>
func.func @add_transposed(%m: memref<?x8x?xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 1024} {
  fagpu.role @a groups(1) {
    %x = arith.constant dense<1.0> : !x
    // expected-error @below {{'fagpu.store' op stores 64 rows along 2 dimensions by threads, expected at most 1; on sm_90a a channel of the engine tma_store takes several}}
    fagpu.store %x, %m[%n, %n, %n] sizes [8, 8, 64] add transposed : !x into memref<?x8x?xf32>
  }
  return
}

// -----

!tile = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
func.func @ticket_not_told(%m: memref<?x?x2x128xbf16>, %table: memref<?x?xi32>, %n: i32, %counter: memref<2xi32>) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 32768} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel pages offset(0) barriers(16384) arrivals [128, 1] : !tile
  fagpu.role @load groups(1) barrier(1) elect {
    // expected-error @below {{'fagpu.ticket' op has no 'fagpu.told_at'; run fagpu-plan-resources before}}
    %t = fagpu.ticket %counter : memref<2xi32>
    fagpu.put %k, %m[%c0, %c0, %c0, %c0] [1, 64, 1, 128] pages(%table : memref<?x?xi32> at 0) rows(%n) stage(%c0, %c0) : memref<?x?x2x128xbf16> into !tile
  }
  return
}

// -----

!tile = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
func.func @ticket_without_barrier(%m: memref<?x?x2x128xbf16>, %table: memref<?x?xi32>, %n: i32, %counter: memref<2xi32>) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 32768} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel pages offset(0) barriers(16384) arrivals [128, 1] : !tile
  // expected-error @below {{'fagpu.role' op has no barrier(...); run fagpu-plan-resources before}}
  fagpu.role @load groups(1) elect {
    %t = fagpu.ticket %counter {fagpu.told_at = 16400 : i32} : memref<2xi32>
    fagpu.put %k, %m[%c0, %c0, %c0, %c0] [1, 64, 1, 128] pages(%table : memref<?x?xi32> at 0) rows(%n) stage(%c0, %c0) : memref<?x?x2x128xbf16> into !tile
  }
  return
}

// -----

func.func @told_alone(%counter: memref<2xi32>) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 1024} {
  fagpu.role @load groups(1) elect {
    // expected-error @below {{'fagpu.ticket' op has 'fagpu.told_at' in @load, which copies no rows in pages; expected none where one thread runs the role}}
    %t = fagpu.ticket %counter {fagpu.told_at = 0 : i32} : memref<2xi32>
  }
  return
}

// -----

func.func @stored_outside(%m: memref<?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %x = arith.constant dense<1.0> : tensor<64x64xf32, #fagpu.acc<4>>
  // expected-error @below {{'fagpu.store' op stands in the kernel @stored_outside outside of its roles, expected it in a 'fagpu.role', whose warps run it}}
  fagpu.store %x, %m[%n, %n] : tensor<64x64xf32, #fagpu.acc<4>> into memref<?x64xf32>
  fagpu.role @a groups(1) {
  }
  return
}

// -----

func.func @put_outside(%m: memref<64x64xbf16>, %n: i32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %t = fagpu.channel tma offset(0) barriers(8192) arrivals [1, 1] : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
  // expected-error @below {{'fagpu.put' op stands in the kernel @put_outside outside of its roles, expected it in a 'fagpu.role', whose warps run it}}
  fagpu.put %t, %m[%n, %n] [64, 64] stage(%n, %n) : memref<64x64xbf16> into !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
  fagpu.role @a groups(1) {
  }
  return
}

// -----

func.func @waits_outside() attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  // expected-error @below {{'fagpu.sync' op stands in the kernel @waits_outside outside of its roles, expected it in a 'fagpu.role', whose warps run it}}
  fagpu.sync
  fagpu.role @a groups(1) {
  }
  return
}

// -----

!c = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
func.func @load_transposed(%v: !view) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  fagpu.role @a groups(2) {
    // expected-error @below {{'fagpu.load' op reads a transposed value of 8 warps, expected at most 4}}
    %h = fagpu.load %v {fagpu.transposed} : !view -> tensor<128x64xbf16, #fagpu.acc<8>>
  }
  return
}
