// RUN: fa-opt %s -convert-fagpu-to-nvvm -split-input-file -verify-diagnostics

// expected-error @below {{'func.func' op has no 'fagpu.shared_memory'; run fagpu-plan-resources before}}
func.func @no_plan() attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @a groups(1) {}
  return
}

// -----

// expected-error @below {{'func.func' op has no 'fagpu.role'}}
func.func @no_roles() attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 128} {
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @no_argument() attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma : !t
  %m = memref.alloca() : memref<64x64xbf16>
  fagpu.role @a groups(1) elect {
    // expected-error @below {{'fagpu.put' op copies memory that is no argument of the kernel, so there is no tensor map of it}}
    fagpu.put %t, %m[%c0, %c0] [64, 64] : memref<64x64xbf16> into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<0>, 1>
func.func @swizzle(%m: memref<64x64xbf16>) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma : !t
  fagpu.role @a groups(1) elect {
    // expected-error @below {{'fagpu.put' op copies a tile '!fagpu.view<64x64xbf16, #fagpu.smem<0>>' in bulk, expected elements of 16 or 32 bits and a swizzle of 32, 64 or 128 bytes}}
    fagpu.put %t, %m[%c0, %c0] [64, 64] : memref<64x64xbf16> into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @bounded_box(%m: memref<8x8x8x64xbf16>, %n: i32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma : !t
  fagpu.role @a groups(1) elect {
    // expected-error @below {{'fagpu.put' op copies 8 of dimension 2 with rows(...), expected 1; a tensor map has no dimension left for the bound}}
    fagpu.put %t, %m[%c0, %c0, %c0, %c0] [1, 8, 8, 64] rows(%n) : memref<8x8x8x64xbf16> into !t
  }
  return
}

// -----

// Elements would move between threads.
func.func @costly_convert(%x: f32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  fagpu.role @a groups(1) {
    %s = tensor.splat %x : tensor<64x8xf32, #fagpu.acc<4>>
    // expected-error @below {{'fagpu.convert' op goes from layout #fagpu.acc<4> to #fagpu.acc<2>, which moves elements between threads; expected layouts of the same elements in each thread, as #fagpu.acc and #fagpu.opa of the same warps}}
    %c = fagpu.convert %s : tensor<64x8xf32, #fagpu.acc<4>> -> tensor<64x8xf32, #fagpu.acc<2>>
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @copies_no_argument(%n: i32) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : !t
  %m = memref.alloca() : memref<64x64xbf16>
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.put' op copies memory that is no argument of the kernel, so its address is not known}}
    fagpu.put %t, %m[%c0, %c0] [64, 64] rows(%n) : memref<64x64xbf16> into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<0>, 1>
func.func @copies_swizzle(%m: memref<64x64xbf16>, %n: i32) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : !t
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.put' op copies by threads to a tile '!fagpu.view<64x64xbf16, #fagpu.smem<0>>', expected f16 or bf16 and a swizzle of 32, 64 or 128 bytes}}
    fagpu.put %t, %m[%c0, %c0] [64, 64] rows(%n) : memref<64x64xbf16> into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @copies_threads(%m: memref<64x64xbf16>, %n: i32) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : !t
  fagpu.role @a groups(1) warps(3) {
    // expected-error @below {{'fagpu.put' op copies by 96 threads, 12 rows at once; expected a multiple of 8, as by 64 threads}}
    fagpu.put %t, %m[%c0, %c0] [64, 64] rows(%n) : memref<64x64xbf16> into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @copies_part_of_panel(%m: memref<64x64xbf16>) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : !t
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.put' op copies 32 columns by threads, expected a multiple of 64, those of a panel}}
    fagpu.put %t part(%c0, %c0), %m[%c0, %c0] [64, 32] : memref<64x64xbf16> into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @copies_few_rows(%m: memref<64x64xbf16>) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async : !t
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.put' op copies 4 rows by threads, expected a multiple of 8, such as 8}}
    fagpu.put %t part(%c0, %c0), %m[%c0, %c0] [4, 64] : memref<64x64xbf16> into !t
  }
  return
}

// -----

// Without fagpu-assign-copies nobody knows what is in flight.
!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @copies_not_counted(%m: memref<64x64xbf16>, %n: i32) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel cp_async offset(0) : !t
  fagpu.role @a groups(1) {
    fagpu.put %t, %m[%c0, %c0] [64, 64] rows(%n) stage(%c0, %c0) : memref<64x64xbf16> into !t
    // expected-error @below {{'fagpu.acquire' op has no pending(...); run fagpu-assign-copies before}}
    %v = fagpu.acquire %t stage(%c0, %c0) : !t
  }
  return
}

// -----

!view = !fagpu.view<64x64xbf16, #fagpu.smem<0>>
func.func @mma_swizzle(%v: !view) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 16384} {
  %t = fagpu.channel threads offset(0) : !fagpu.channel<64x64xbf16, #fagpu.smem<0>, 1>
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.mma' op multiplies '!fagpu.view<64x64xbf16, #fagpu.smem<0>>', expected 16-bit elements and a swizzle of 32, 64 or 128 bytes}}
    %x = fagpu.mma nt %v, %v : !view, !view -> tensor<64x64xf32, #fagpu.acc<4>>
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<0>, 1>
!h = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @store_swizzle(%m: memref<64x64xbf16>, %x: f32) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel threads offset(0) : !t
  fagpu.role @a groups(1) {
    %f = tensor.splat %x : tensor<64x64xf32, #fagpu.acc<4>>
    %h = arith.truncf %f : tensor<64x64xf32, #fagpu.acc<4>> to !h
    // expected-error @below {{'fagpu.store' op stages in '!fagpu.channel<64x64xbf16, #fagpu.smem<0>, 1>', expected 16-bit elements and a swizzle of 32, 64 or 128 bytes}}
    fagpu.store %h, %m[%c0, %c0] via(%t : !t) : !h into memref<64x64xbf16>
  }
  return
}

// -----

// Threads store rows along two dimensions at most.
!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!h = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @store_three_dimensions(%m: memref<8x8x8x64xbf16>, %x: f32) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel threads offset(0) : !t
  fagpu.role @a groups(1) {
    %f = tensor.splat %x : tensor<64x64xf32, #fagpu.acc<4>>
    %h = arith.truncf %f : tensor<64x64xf32, #fagpu.acc<4>> to !h
    // expected-error @below {{'fagpu.store' op stores 64 rows along 3 dimensions by threads, expected at most 2; on sm_90a a channel of the engine tma_store takes several}}
    fagpu.store %h, %m[%c0, %c0, %c0, %c0] sizes [2, 8, 4, 64] via(%t : !t) : !h into memref<8x8x8x64xbf16>
  }
  return
}

// -----

// A tensor map ends where the memory does.
!t = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
func.func @columns(%m: memref<64x72xbf16>) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %t = fagpu.channel tma : !t
  fagpu.role @a groups(1) elect {
    // expected-error @below {{'fagpu.put' op copies in bulk up to column 64 of 'memref<64x72xbf16>', expected the constant size of the last dimension, where a tensor map ends}}
    fagpu.put %t, %m[%c0, %c0] [64, 128] columns(%c64) : memref<64x72xbf16> into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
func.func @dynamic_columns(%m: memref<64x72xbf16>, %n: i32) attributes {fagpu.kernel = "sm_90a", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma : !t
  fagpu.role @a groups(1) elect {
    // expected-error @below {{'fagpu.put' op copies in bulk up to a column that is no constant of 'memref<64x72xbf16>', expected the constant size of the last dimension, where a tensor map ends}}
    fagpu.put %t, %m[%c0, %c0] [64, 128] columns(%n) : memref<64x72xbf16> into !t
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
func.func @far_columns(%m: memref<64x64xbf16, strided<[128, 2]>>, %n: i32) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 16384} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel loads : !t
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.put' op copies by threads from 'memref<64x64xbf16, strided<[128, 2]>>', whose columns are not side by side; expected a stride of 1 in the last dimension}}
    fagpu.put %t, %m[%c0, %c0] [64, 64] rows(%n) : memref<64x64xbf16, strided<[128, 2]>> into !t
  }
  return
}
