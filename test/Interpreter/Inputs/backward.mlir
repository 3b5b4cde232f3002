// What examples/schedules/sm_90a_backward.mlir computes, one pair at a time:
//   p = exp2(scale log2(e) q.k - lse2)       ds = p (do.v - delta)
//   dv += p do      dk += scale ds q      dq += ds k

!mem = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!mf = memref<?x?x?x128xf32>
!vec = memref<?x?x?xf32>
func.func private @dot(%a: !mem, %b: !mem, %batch: index, %h: index, %i: index, %j: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %d = %c0 to %c128 step %c1 iter_args(%s = %zero) -> (f32) {
    %x0 = memref.load %a[%batch, %i, %h, %d] : !mem
    %y0 = memref.load %b[%batch, %j, %h, %d] : !mem
    %x = arith.extf %x0 : bf16 to f32
    %y = arith.extf %y0 : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %t = arith.addf %s, %xy : f32
    scf.yield %t : f32
  }
  return %sum : f32
}

// row i of %sums += factor * row j of %rows
func.func private @add(%sums: !mf, %rows: !mem, %factor: f32, %batch: index, %h: index, %i: index, %j: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  scf.for %d = %c0 to %c128 step %c1 {
    %x0 = memref.load %rows[%batch, %j, %h, %d] : !mem
    %x = arith.extf %x0 : bf16 to f32
    %y = arith.mulf %x, %factor : f32
    %old = memref.load %sums[%batch, %i, %h, %d] : !mf
    %new = arith.addf %old, %y : f32
    memref.store %new, %sums[%batch, %i, %h, %d] : !mf
  }
  return
}

func.func private @clear(%m: !mf) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%m : !mf)
  return
}

// %to = %from in bf16
func.func private @truncate(%from: !mf, %to: !mem) {
  linalg.generic {indexing_maps = [affine_map<(b, i, h, d) -> (b, i, h, d)>, affine_map<(b, i, h, d) -> (b, i, h, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%from : !mf) outs(%to : !mem) {
  ^bb0(%x: f32, %old: bf16):
    %y = arith.truncf %x : f32 to bf16
    linalg.yield %y : bf16
  }
  return
}

func.func @backward(%query: !mem, %key: !mem, %value: !mem,
    %output_gradient: !mem, %lse_base2: !vec, %delta: !vec,
    %query_gradient: !mf, %key_gradient: !mem, %value_gradient: !mem,
    %scale: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %log2e = arith.constant 1.4426950408889634 : f64
  %log2e32 = arith.truncf %log2e : f64 to f32
  %scale2 = arith.mulf %scale, %log2e32 : f32
  %batch = memref.dim %query, %c0 : !mem
  %queries = memref.dim %query, %c1 : !mem
  %heads = memref.dim %query, %c2 : !mem
  %keys = memref.dim %key, %c1 : !mem
  %dks = memref.alloc(%batch, %keys, %heads) : !mf
  %dvs = memref.alloc(%batch, %keys, %heads) : !mf
  func.call @clear(%dks) : (!mf) -> ()
  func.call @clear(%dvs) : (!mf) -> ()
  scf.for %b = %c0 to %batch step %c1 {
    scf.for %h = %c0 to %heads step %c1 {
      scf.for %i = %c0 to %queries step %c1 {
        scf.for %j = %c0 to %keys step %c1 {
          %s = func.call @dot(%query, %key, %b, %h, %i, %j) : (!mem, !mem, index, index, index, index) -> f32
          %dp = func.call @dot(%output_gradient, %value, %b, %h, %i, %j) : (!mem, !mem, index, index, index, index) -> f32
          %l = memref.load %lse_base2[%b, %h, %i] : !vec
          %e = memref.load %delta[%b, %h, %i] : !vec
          %x0 = arith.mulf %s, %scale2 : f32
          %x = arith.subf %x0, %l : f32
          %p = math.exp2 %x : f32
          %y = arith.subf %dp, %e : f32
          %ds = arith.mulf %p, %y : f32
          %dss = arith.mulf %ds, %scale : f32
          func.call @add(%dvs, %output_gradient, %p, %b, %h, %j, %i) : (!mf, !mem, f32, index, index, index, index) -> ()
          func.call @add(%dks, %query, %dss, %b, %h, %j, %i) : (!mf, !mem, f32, index, index, index, index) -> ()
          func.call @add(%query_gradient, %key, %ds, %b, %h, %i, %j) : (!mf, !mem, f32, index, index, index, index) -> ()
        }
      }
    }
  }
  func.call @truncate(%dks, %key_gradient) : (!mf, !mem) -> ()
  func.call @truncate(%dvs, %value_gradient) : (!mf, !mem) -> ()
  return
}
