// RUN: fa-opt %s -fa-results-to-out-parameters -split-input-file -verify-diagnostics

// expected-error @below {{'func.func' op has 2 blocks, expected 1 to turn its results into out-parameters}}
func.func @blocks(%q: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^exit
^exit:
  return %q : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' op has 'tensor<*xf32>' in its signature, expected ranked tensors}}
func.func @unranked(%q: tensor<*xf32>) -> tensor<*xf32> {
  return %q : tensor<*xf32>
}

// -----

func.func private @callee(tensor<4xf32>) -> tensor<4xf32>
func.func @caller(%q: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'func.call' op passes tensors to 'callee', expected no calls on tensors: inline it first}}
  %r = call @callee(%q) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @size(%q: tensor<1x?x4x8xf32>, %sizes: memref<1xindex>, %c: i1) -> tensor<1x?x4x8xf32> {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'scf.if' op returns 'tensor<1x?x4x8xf32>' as result 0, whose dimension 1 has a size that is known inside of a branch alone: expected a static one, or one computed before}}
  %x = scf.if %c -> (tensor<1x?x4x8xf32>) {
    %n = memref.load %sizes[%c0] : memref<1xindex>
    %p = tensor.extract_slice %q[0, 0, 0, 0] [1, %n, 4, 8] [1, 1, 1, 1] : tensor<1x?x4x8xf32> to tensor<1x?x4x8xf32>
    scf.yield %p : tensor<1x?x4x8xf32>
  } else {
    scf.yield %q : tensor<1x?x4x8xf32>
  }
  %e = linalg.exp ins(%x : tensor<1x?x4x8xf32>) outs(%x : tensor<1x?x4x8xf32>) -> tensor<1x?x4x8xf32>
  return %e : tensor<1x?x4x8xf32>
}

// -----

func.func @switch(%q: tensor<2x16x4x8xf32>, %c: index) -> tensor<2x16x4x8xf32> {
  %init = tensor.empty() : tensor<2x16x4x8xf32>
  // expected-error @below {{'scf.index_switch' op returns a tensor of 'f32' in memory of its own, which nothing would free: expected scf.for, scf.if or scf.forall}}
  %x = scf.index_switch %c -> tensor<2x16x4x8xf32>
  case 0 {
    %n = fa.attention ins(%q, %q, %q : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
        outs(%init : tensor<2x16x4x8xf32>)
    %e = linalg.exp ins(%n : tensor<2x16x4x8xf32>) outs(%q : tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32>
    scf.yield %e : tensor<2x16x4x8xf32>
  }
  default {
    scf.yield %q : tensor<2x16x4x8xf32>
  }
  %o = arith.addf %x, %q : tensor<2x16x4x8xf32>
  return %o : tensor<2x16x4x8xf32>
}

// -----

func.func @grow(%q: tensor<1x?x4x8xf32>, %k: tensor<1x?x4x8xf32>) -> tensor<1x?x4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  // expected-error @below {{'scf.for' op carries 'tensor<1x?x4x8xf32>' as argument 0, whose dimension 1 is not known to keep its size: expected a tensor of the size of the one carried}}
  %o = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %q) -> (tensor<1x?x4x8xf32>) {
    %n = tensor.dim %k, %c1 : tensor<1x?x4x8xf32>
    %init = tensor.empty(%n) : tensor<1x?x4x8xf32>
    %a = fa.attention ins(%k, %x, %x : tensor<1x?x4x8xf32>, tensor<1x?x4x8xf32>, tensor<1x?x4x8xf32>)
        outs(%init : tensor<1x?x4x8xf32>)
    scf.yield %a : tensor<1x?x4x8xf32>
  }
  return %o : tensor<1x?x4x8xf32>
}

// -----

func.func @while(%q: tensor<2x16x4x8xf32>, %n: index) -> tensor<2x16x4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{'scf.while' op carries tensors, expected scf.for}}
  %r:2 = scf.while (%i = %c0, %x = %q) : (index, tensor<2x16x4x8xf32>) -> (index, tensor<2x16x4x8xf32>) {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %i, %x : index, tensor<2x16x4x8xf32>
  } do {
  ^bb0(%i: index, %x: tensor<2x16x4x8xf32>):
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %x : index, tensor<2x16x4x8xf32>
  }
  return %r#1 : tensor<2x16x4x8xf32>
}

// -----

func.func @unranked_inside(%q: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'tensor.cast' op makes 'tensor<*xf32>', expected ranked tensors}}
  %u = tensor.cast %q : tensor<4xf32> to tensor<*xf32>
  %r = tensor.cast %u : tensor<*xf32> to tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @no_memory(%q: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'tosa.exp' op is on tensors and has no form on memrefs; lower it to linalg before, as tosa-to-linalg-pipeline of mlir-opt does}}
  %e = tosa.exp %q : (tensor<4xf32>) -> tensor<4xf32>
  %r = arith.addf %e, %e : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @cast(%q: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'builtin.unrealized_conversion_cast' op is on tensors and has no form on memrefs; lower it before}}
  %r = builtin.unrealized_conversion_cast %q : tensor<4xf32> to tensor<4xf32>
  return %r : tensor<4xf32>
}
