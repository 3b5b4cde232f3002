// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-predicate-launches -split-input-file -verify-diagnostics

func.func @kernel() attributes {fagpu.kernel = "sm_80"} {
  return
}

func.func @effect(%n: index, %is: i1) {
  scf.if %is {
    // expected-error @below {{'keep' op stands in a branch that launches kernels, expected only what may run whether or not the branch is taken}}
    "keep"(%n) : (index) -> ()
    fagpu.launch @kernel grid(%n) ()
  }
  return
}

// -----

func.func @kernel() attributes {fagpu.kernel = "sm_80"} {
  return
}

func.func @result(%n: index, %is: i1) -> index {
  // expected-error @below {{'scf.if' op yields 1 values, expected none where kernels are launched}}
  %r = scf.if %is -> index {
    fagpu.launch @kernel grid(%n) ()
    scf.yield %n : index
  } else {
    scf.yield %n : index
  }
  return %r : index
}
