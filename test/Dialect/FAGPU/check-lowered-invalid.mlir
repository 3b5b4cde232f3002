// RUN: fa-opt %s -pass-pipeline='builtin.module(func.func(fagpu-check))' -split-input-file -verify-diagnostics

// What no lowering takes is refused by the check already, in the words of the
// lowering (test/Conversion/FAGPUToNVVM has each case).

!mem = memref<?x128xbf16, strided<[?, 1], offset: ?>>
!kv = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!kvv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
func.func @columns(%m: !mem, %k: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !kv
  fagpu.role @load groups(1) elect {
    // expected-error @below {{'fagpu.put' op copies in bulk up to a column that is no constant of 'memref<?x128xbf16, strided<[?, 1], offset: ?>>', expected the constant size of the last dimension, where a tensor map ends}}
    fagpu.put %ch, %m[%c0, %c0] [64, 128] columns(%k) : !mem into !kv
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %ch : !kv
    fagpu.release %v : !kvv
  }
  return
}

// -----

func.func @too_wide(%f: f64) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math groups(1) {
    // expected-error @below {{'math.exp' op on 'f64' has no instructions on the device; expected f32, f16 or bf16}}
    %x = math.exp %f : f64
  }
  return
}

// -----

!s = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @packed(%f: bf16) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math groups(1) {
    // expected-error @below {{'tensor.splat' op computes on 'tensor<64x64xbf16, #fagpu.acc<4>>', expected 32-bit elements: arith.extf before it, and arith.truncf after it}}
    %x = tensor.splat %f : !s
  }
  return
}

// -----

!f = tensor<64xf32, #fagpu.row<4>>
func.func @no_address(%m: memref<64xf32>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %t = memref.alloca() : memref<64xf32>
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.gather' op reads memory that is no argument of the kernel and no constant, so its address is not known}}
    %x = fagpu.gather %t[%c0] : memref<64xf32>[i32] -> !f
    fagpu.store %x, %m[%c0] : !f into memref<64xf32>
  }
  return
}

// -----

memref.global "private" @state : memref<64xf32> = dense<1.0>
func.func @mutable() attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  fagpu.role @a groups(1) {
    // expected-error @below {{'memref.get_global' op reads '@state' of type 'memref<64xf32>' in a kernel, expected a constant with dense elements of i1 or of whole bytes}}
    %t = memref.get_global @state : memref<64xf32>
    %x = memref.load %t[%c0] : memref<64xf32>
  }
  return
}

// -----

!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!tv = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
func.func @all_threads_put(%m: memref<64x64xbf16>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma : !t
  fagpu.role @load groups(1) {
    // expected-error @below {{'fagpu.put' op copies in bulk in @load, a role of 128 threads, expected a role with 'elect'}}
    fagpu.put %t, %m[%c0, %c0] [64, 64] : memref<64x64xbf16> into !t
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %t : !t
    fagpu.release %v : !tv
  }
  return
}

// -----

!s = tensor<64x64xbf16, #fagpu.acc<4>>
func.func @fetched(%m: memref<64x64xbf16>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.fetch' op does not say how operands reach the threads; run fagpu-form-channels before}}
    %s = fagpu.fetch %m[%c0, %c0] [64, 64] : memref<64x64xbf16> -> !s
  }
  return
}

// -----

// Nothing orders what is added with other accesses of a launch.
!acc = tensor<64x64xf32, #fagpu.acc<4>>
func.func @added_and_read(%m: memref<?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) {
    // expected-error-re @below {{'fagpu.gather' op uses memory of the kernel, argument 0, that 'fagpu.store' (line {{[0-9]+}}) adds to: nothing orders the two; expected additions alone}}
    %x = fagpu.gather %m[%n, %c0] : memref<?x64xf32>[i32, i32] -> !acc
    fagpu.store %x, %m[%c0, %c0] add : !acc into memref<?x64xf32>
  }
  return
}

// -----

!acc = tensor<64x64xf32, #fagpu.acc<4>>
func.func @added_and_stored(%m: memref<?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) {
    %x = arith.constant dense<1.0> : !acc
    // expected-error-re @below {{'fagpu.store' op uses memory of the kernel, argument 0, that 'fagpu.scatter_add' (line {{[0-9]+}}) adds to: nothing orders the two; expected additions alone}}
    fagpu.store %x, %m[%c0, %c0] : !acc into memref<?x64xf32>
    fagpu.scatter_add %x, %m[%n, %c0] : !acc into memref<?x64xf32>[i32, i32]
  }
  return
}

// -----

!v = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
func.func @all_threads_copy(%m: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %v = fagpu.channel tma : !v
  fagpu.role @load groups(1) {
    // expected-error @below {{'fagpu.put' op copies in bulk in @load, a role of 128 threads, expected a role with 'elect'}}
    fagpu.put %v, %m[%c0] [64] : memref<?xf32> into !v
  }
  fagpu.role @math groups(1) {
    %x = fagpu.acquire %v : !v
    fagpu.release %x : !fagpu.view<64xf32, #fagpu.smem<0>>
  }
  return
}

// -----

!v = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
func.func @no_memory_of_the_kernel() attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %m = memref.alloca() : memref<64xf32>
  %v = fagpu.channel tma : !v
  fagpu.role @load groups(1) elect {
    // expected-error @below {{'fagpu.put' op reads memory that is no argument of the kernel and no constant, so its address is not known}}
    fagpu.put %v, %m[%c0] [64] : memref<64xf32> into !v
  }
  fagpu.role @math groups(1) {
    %x = fagpu.acquire %v : !v
    fagpu.release %x : !fagpu.view<64xf32, #fagpu.smem<0>>
  }
  return
}

// -----

// Eight warps of sixteen rows are more than the 64 columns of a panel.
!h = tensor<128x64xbf16, #fagpu.acc<8>>
!t = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
func.func @transposed(%m: memref<?x128xbf16>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma_store : !t
  fagpu.role @math groups(1) warps(8) {
    %x = arith.constant dense<1.0> : !h
    // expected-error @below {{'fagpu.store' op stages a transposed value of 8 warps, expected at most 4}}
    fagpu.store %x, %m[%c0, %c0] transposed via(%t : !t) : !h into memref<?x128xbf16>
  }
  return
}

// -----

!x = tensor<64x64xf32, #fagpu.acc<4>>
!t = !fagpu.channel<64x64xf32, #fagpu.smem<128>, 1>
func.func @transposed_floats(%m: memref<?x64xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma_store : !t
  fagpu.role @math groups(1) {
    %x = arith.constant dense<1.0> : !x
    // expected-error @below {{'fagpu.store' op stages in '!fagpu.channel<64x64xf32, #fagpu.smem<128>, 1>', expected 16-bit elements and a swizzle of 32, 64 or 128 bytes}}
    fagpu.store %x, %m[%c0, %c0] transposed via(%t : !t) : !x into memref<?x64xf32>
  }
  return
}
