// RUN: fa-opt %s -canonicalize -cse | FileCheck %s

// However a causal mask is spelled, it becomes the text of `mask causal`.

!t = tensor<1x?x2x64xf32>

// CHECK-LABEL: func.func @short(
// CHECK: mask(%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]], %[[I:[a-z0-9]+]], %[[J:[a-z0-9]+]]) {
// CHECK-NEXT: %[[NK:.+]] = fa.key_length : index
// CHECK-NEXT: %[[NQ:.+]] = fa.query_length : index
// CHECK-NEXT: %[[D:.+]] = arith.subi %[[NK]], %[[NQ]] : index
// CHECK-NEXT: %[[LAST:.+]] = arith.addi %[[I]], %[[D]] : index
// CHECK-NEXT: %[[V:.+]] = arith.cmpi sle, %[[J]], %[[LAST]] : index
// CHECK-NEXT: fa.yield %[[V]] : i1
// CHECK-NEXT: }
func.func @short(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) mask causal
  return %r : !t
}

// CHECK-LABEL: func.func @difference(
// CHECK: mask(%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]], %[[I:[a-z0-9]+]], %[[J:[a-z0-9]+]]) {
// CHECK-NEXT: %[[NK:.+]] = fa.key_length : index
// CHECK-NEXT: %[[NQ:.+]] = fa.query_length : index
// CHECK-NEXT: %[[D:.+]] = arith.subi %[[NK]], %[[NQ]] : index
// CHECK-NEXT: %[[LAST:.+]] = arith.addi %[[I]], %[[D]] : index
// CHECK-NEXT: %[[V:.+]] = arith.cmpi sle, %[[J]], %[[LAST]] : index
// CHECK-NEXT: fa.yield %[[V]] : i1
// CHECK-NEXT: }
func.func @difference(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) {
        %nk = fa.key_length : index
        %nq = fa.query_length : index
        %d = arith.subi %j, %i : index
        %o = arith.subi %nk, %nq : index
        %v = arith.cmpi sle, %d, %o : index
        fa.yield %v : i1
      }
  return %r : !t
}

// CHECK-LABEL: func.func @reversed(
// CHECK: mask(%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]], %[[I:[a-z0-9]+]], %[[J:[a-z0-9]+]]) {
// CHECK-NEXT: %[[NK:.+]] = fa.key_length : index
// CHECK-NEXT: %[[NQ:.+]] = fa.query_length : index
// CHECK-NEXT: %[[D:.+]] = arith.subi %[[NK]], %[[NQ]] : index
// CHECK-NEXT: %[[LAST:.+]] = arith.addi %[[I]], %[[D]] : index
// CHECK-NEXT: %[[V:.+]] = arith.cmpi sle, %[[J]], %[[LAST]] : index
// CHECK-NEXT: fa.yield %[[V]] : i1
// CHECK-NEXT: }
func.func @reversed(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) {
        %nk = fa.key_length : index
        %nq = fa.query_length : index
        %off = arith.subi %nk, %nq : index
        %last = arith.addi %i, %off : index
        %v = arith.cmpi sge, %last, %j : index
        fa.yield %v : i1
      }
  return %r : !t
}

// CHECK-LABEL: func.func @negated(
// CHECK: mask(%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]], %[[I:[a-z0-9]+]], %[[J:[a-z0-9]+]]) {
// CHECK-NEXT: %[[NK:.+]] = fa.key_length : index
// CHECK-NEXT: %[[NQ:.+]] = fa.query_length : index
// CHECK-NEXT: %[[D:.+]] = arith.subi %[[NK]], %[[NQ]] : index
// CHECK-NEXT: %[[LAST:.+]] = arith.addi %[[I]], %[[D]] : index
// CHECK-NEXT: %[[V:.+]] = arith.cmpi sle, %[[J]], %[[LAST]] : index
// CHECK-NEXT: fa.yield %[[V]] : i1
// CHECK-NEXT: }
func.func @negated(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) {
        %nk = fa.key_length : index
        %nq = fa.query_length : index
        %true = arith.constant true
        %j1 = arith.addi %j, %nq : index
        %i1 = arith.addi %i, %nk : index
        %after = arith.cmpi sgt, %j1, %i1 : index
        %v = arith.xori %after, %true : i1
        fa.yield %v : i1
      }
  return %r : !t
}

// A strict comparison in 32 bits, moved by one.

// CHECK-LABEL: func.func @narrow(
// CHECK: mask(%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]], %[[I:[a-z0-9]+]], %[[J:[a-z0-9]+]]) {
// CHECK-NEXT: %[[NK:.+]] = fa.key_length : index
// CHECK-NEXT: %[[NQ:.+]] = fa.query_length : index
// CHECK-NEXT: %[[D:.+]] = arith.subi %[[NK]], %[[NQ]] : index
// CHECK-NEXT: %[[LAST:.+]] = arith.addi %[[I]], %[[D]] : index
// CHECK-NEXT: %[[V:.+]] = arith.cmpi sle, %[[J]], %[[LAST]] : index
// CHECK-NEXT: fa.yield %[[V]] : i1
// CHECK-NEXT: }
func.func @narrow(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) {
        %nk = fa.key_length : index
        %nq = fa.query_length : index
        %c1 = arith.constant 1 : i32
        %nk32 = arith.index_cast %nk : index to i32
        %nq32 = arith.index_cast %nq : index to i32
        %i32 = arith.index_cast %i : index to i32
        %j32 = arith.index_cast %j : index to i32
        %x = arith.addi %i32, %nk32 : i32
        %y = arith.subi %x, %nq32 : i32
        %end = arith.addi %y, %c1 : i32
        %v = arith.cmpi slt, %j32, %end : i32
        fa.yield %v : i1
      }
  return %r : !t
}

// CHECK-LABEL: func.func @top_left(
// CHECK: mask(%{{.+}}, %{{.+}}, %[[I:[a-z0-9]+]], %[[J:[a-z0-9]+]]) {
// CHECK-NEXT: %[[V:.+]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT: fa.yield %[[V]] : i1
func.func @top_left(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) {
        %v = arith.cmpi ule, %j, %i : index
        fa.yield %v : i1
      }
  return %r : !t
}

// Symbols stand on the right, in their order, the constant last; a negative
// multiple of the query is subtracted.

// CHECK-LABEL: func.func @general(
// CHECK: mask(%{{.+}}, %[[H:[a-z0-9]+]], %[[I:[a-z0-9]+]], %[[J:[a-z0-9]+]]) captures(%[[X:.+]] = %{{.+}} : index) {
// CHECK-DAG: %[[C3:.+]] = arith.constant 3 : index
// CHECK-DAG: %[[C2:.+]] = arith.constant 2 : index
// CHECK: %[[S:.+]] = arith.addi %[[H]], %[[X]] : index
// CHECK: %[[SC:.+]] = arith.addi %[[S]], %[[C3]] : index
// CHECK: %[[II:.+]] = arith.muli %[[I]], %[[C2]] : index
// CHECK: %[[BOUND:.+]] = arith.subi %[[SC]], %[[II]] : index
// CHECK: arith.cmpi sge, %[[J]], %[[BOUND]] : index
func.func @general(%q: !t, %x: index) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) captures(%y = %x : index) {
        %c2 = arith.constant 2 : index
        %twice = arith.muli %i, %c2 : index
        %sum = arith.addi %j, %twice : index
        %xh = arith.addi %y, %h : index
        %bound = arith.addi %xh, %c2 : index
        %v = arith.cmpi sgt, %sum, %bound : index
        fa.yield %v : i1
      }
  return %r : !t
}

// What is not linear in the key with coefficient 1 or -1 stays as it is.

// CHECK-LABEL: func.func @others(
// CHECK: %[[TWICE:.+]] = arith.muli %[[J:.+]], %{{.+}} : index
// CHECK: arith.cmpi slt, %[[TWICE]], %[[I:.+]] : index
// CHECK: %[[ODD:.+]] = arith.remsi
// CHECK: arith.cmpi eq, %[[ODD]],
func.func @others(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) {
        %c2 = arith.constant 2 : index
        %twice = arith.muli %j, %c2 : index
        %v = arith.cmpi slt, %twice, %i : index
        %odd = arith.remsi %j, %c2 : index
        %w = arith.cmpi eq, %odd, %h : index
        %both = arith.andi %v, %w : i1
        fa.yield %both : i1
      }
  return %r : !t
}

// Constants from which symbols are subtracted come first, as folds leave them.

// CHECK-LABEL: func.func @subtracted(
// CHECK: %[[LIMIT:.+]] = arith.subi %c199{{.*}}, %[[X:.+]] : index
// CHECK: arith.cmpi sle, %{{.+}}, %[[LIMIT]] : index
// CHECK: %[[FROM:.+]] = arith.subi %c{{.*}}, %[[X]] : index
// CHECK: %[[BOUND:.+]] = arith.addi %{{.+}}, %[[FROM]] : index
// CHECK: arith.cmpi sge, %{{.+}}, %[[BOUND]] : index
func.func @subtracted(%q: !t, %n: index) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) captures(%x = %n : index) {
        %c200 = arith.constant 200 : index
        %c7 = arith.constant 7 : index
        %sum = arith.addi %j, %x : index
        %near = arith.cmpi slt, %sum, %c200 : index
        %before = arith.subi %i, %x : index
        %from = arith.addi %before, %c7 : index
        %late = arith.cmpi sge, %j, %from : index
        %v = arith.andi %near, %late : i1
        fa.yield %v : i1
      }
  return %r : !t
}

// Sums of 32 bits that may wrap are no sums of indices; those that may not are.

// CHECK-LABEL: func.func @may_wrap(
// CHECK: %[[END:.+]] = arith.addi %{{.+}}, %{{.+}} : i32
// CHECK-NEXT: arith.cmpi sle, %{{.+}}, %[[END]] : i32
func.func @may_wrap(%q: !t, %w: i32) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) captures(%x = %w : i32) {
        %i32 = arith.index_cast %i : index to i32
        %j32 = arith.index_cast %j : index to i32
        %end = arith.addi %i32, %x : i32
        %v = arith.cmpi sle, %j32, %end : i32
        fa.yield %v : i1
      }
  return %r : !t
}

// CHECK-LABEL: func.func @does_not_wrap(
// CHECK: mask(%{{.+}}, %{{.+}}, %[[I:[a-z0-9]+]], %[[J:[a-z0-9]+]]) captures(%[[X:.+]] = %{{.+}} : i32) {
// CHECK-NEXT: %[[INDEX:.+]] = arith.index_cast %[[X]] : i32 to index
// CHECK-NEXT: %[[END:.+]] = arith.addi %[[I]], %[[INDEX]] : index
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[END]] : index
func.func @does_not_wrap(%q: !t, %w: i32) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) captures(%x = %w : i32) {
        %i32 = arith.index_cast %i : index to i32
        %j32 = arith.index_cast %j : index to i32
        %end = arith.addi %i32, %x overflow<nsw> : i32
        %v = arith.cmpi sle, %j32, %end : i32
        fa.yield %v : i1
      }
  return %r : !t
}

// An index that is cut to 32 bits stays cut.

// CHECK-LABEL: func.func @cut(
// CHECK: %[[CUT:.+]] = arith.trunci %{{.+}} : i64 to i32
// CHECK-NEXT: %[[END:.+]] = arith.index_cast %[[CUT]] : i32 to index
// CHECK-NEXT: arith.cmpi sle, %{{.+}}, %[[END]] : index
func.func @cut(%q: !t, %w: index) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) captures(%x = %w : index) {
        %end = arith.index_cast %x : index to i32
        %j32 = arith.index_cast %j : index to i32
        %v = arith.cmpi sle, %j32, %end : i32
        fa.yield %v : i1
      }
  return %r : !t
}
