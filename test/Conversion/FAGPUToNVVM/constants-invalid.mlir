// RUN: fa-opt %s -convert-fagpu-to-nvvm -split-input-file -verify-diagnostics

!f = tensor<64xf32, #fagpu.row<4>>
memref.global "private" @state : memref<64xf32> = dense<1.0>
func.func @mutable(%m: memref<64xf32>) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 128} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) {
    // expected-error @below {{'memref.get_global' op reads '@state' of type 'memref<64xf32>' in a kernel, expected a constant with dense elements of i1 or of whole bytes}}
    %t = memref.get_global @state : memref<64xf32>
    %x = fagpu.gather %t[%c0] : memref<64xf32>[i32] -> !f
    fagpu.store %x, %m[%c0] : !f into memref<64xf32>
  }
  return
}

// -----

memref.global "private" constant @nibbles : memref<2xi4> = dense<[1, 2]>
func.func @small_elements() attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 128} {
  %c0 = arith.constant 0 : index
  fagpu.role @a groups(1) {
    // expected-error @below {{'memref.get_global' op reads '@nibbles' of type 'memref<2xi4>' in a kernel, expected a constant with dense elements of i1 or of whole bytes}}
    %t = memref.get_global @nibbles : memref<2xi4>
    %x = memref.load %t[%c0] : memref<2xi4>
  }
  return
}

// -----

!f = tensor<64xf32, #fagpu.row<4>>
memref.global "private" constant @table : memref<64xf32> = dense<1.0>
func.func @written(%x: f32) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 128} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) {
    %t = memref.get_global @table : memref<64xf32>
    %y = tensor.splat %x : !f
    // expected-error @below {{'fagpu.store' op uses the constant '@table', which a kernel reads by 'fagpu.gather', 'fagpu.extremes', 'memref.load' and as pages of a 'fagpu.put' only}}
    fagpu.store %y, %t[%c0] : !f into memref<64xf32>
  }
  return
}

// -----

!f = tensor<64xf32, #fagpu.row<4>>
func.func @no_address(%m: memref<64xf32>) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 128} {
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

!l = tensor<64xi16, #fagpu.row<4>>
func.func @elements(%m: memref<64xi16>) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 128} {
  %c0 = arith.constant 0 : i32
  fagpu.role @a groups(1) {
    // expected-error @below {{'fagpu.gather' op reads elements of 'i16', expected f32, f64, f16, bf16, i32, i64, i8 or i1}}
    %x = fagpu.gather %m[%c0] : memref<64xi16>[i32] -> !l
  }
  return
}

// -----

func.func @dimension(%m: memref<?x?xf32>, %n: index) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 128} {
  fagpu.role @a groups(1) {
    // expected-error @below {{'memref.dim' op reads the size of a dimension that is no constant of 'memref<?x?xf32>', expected 0 to 1}}
    %d = memref.dim %m, %n : memref<?x?xf32>
  }
  return
}

// -----

func.func @no_dimension(%m: memref<?x?xf32>) attributes {fagpu.kernel = "sm_80", fagpu.shared_memory = 128} {
  %c2 = arith.constant 2 : index
  fagpu.role @a groups(1) {
    // expected-error @below {{'memref.dim' op reads the size of dimension 2 of 'memref<?x?xf32>', expected 0 to 1}}
    %d = memref.dim %m, %c2 : memref<?x?xf32>
  }
  return
}
