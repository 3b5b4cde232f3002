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
