// The problems of level3.mlir, and how far its functions are from them.

func.func @blocks_reference(%q: tensor<2x40x4x8xf32>, %k: tensor<2x50x2x8xf32>, %v: tensor<2x50x2x8xf32>, %s: tensor<4xf32>) -> (tensor<2x40x4x8xf32>, tensor<2x4x40xf32>) {
  %c = arith.constant 3.0 : f32
  %scale = arith.constant 0.375 : f32
  %left = arith.constant 20 : index
  %right = arith.constant 3 : index
  %o = tensor.empty() : tensor<2x40x4x8xf32>
  %l = tensor.empty() : tensor<2x4x40xf32>
  %r:2 = fa.attention ins(%q, %k, %v : tensor<2x40x4x8xf32>, tensor<2x50x2x8xf32>, tensor<2x50x2x8xf32>) outs(%o, %l : tensor<2x40x4x8xf32>, tensor<2x4x40xf32>) scale(%scale)
      score softcap(%c) alibi(%s : tensor<4xf32>) mask causal
  return %r#0, %r#1 : tensor<2x40x4x8xf32>, tensor<2x4x40xf32>
}

func.func @blocks_difference(%q: memref<2x40x4x8xf32>, %k: memref<2x50x2x8xf32>, %v: memref<2x50x2x8xf32>, %s: memref<4xf32>) -> (f32, f32) {
  %o = memref.alloc() : memref<2x40x4x8xf32>
  %l = memref.alloc() : memref<2x4x40xf32>
  %q_strided = memref.cast %q : memref<2x40x4x8xf32> to memref<2x40x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>
  %k_strided = memref.cast %k : memref<2x50x2x8xf32> to memref<2x50x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>
  %v_strided = memref.cast %v : memref<2x50x2x8xf32> to memref<2x50x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>
  %s_strided = memref.cast %s : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
  %o_strided = memref.cast %o : memref<2x40x4x8xf32> to memref<2x40x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>
  %l_strided = memref.cast %l : memref<2x4x40xf32> to memref<2x4x40xf32, strided<[?, ?, 1], offset: ?>>
  call @blocks(%q_strided, %k_strided, %v_strided, %s_strided, %o_strided, %l_strided) : (memref<2x40x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<2x50x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<2x50x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<4xf32, strided<[1], offset: ?>>, memref<2x40x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<2x4x40xf32, strided<[?, ?, 1], offset: ?>>) -> ()
  %q_tensor = bufferization.to_tensor %q restrict : memref<2x40x4x8xf32> to tensor<2x40x4x8xf32>
  %k_tensor = bufferization.to_tensor %k restrict : memref<2x50x2x8xf32> to tensor<2x50x2x8xf32>
  %v_tensor = bufferization.to_tensor %v restrict : memref<2x50x2x8xf32> to tensor<2x50x2x8xf32>
  %s_tensor = bufferization.to_tensor %s restrict : memref<4xf32> to tensor<4xf32>
  %o_tensor = bufferization.to_tensor %o restrict : memref<2x40x4x8xf32> to tensor<2x40x4x8xf32>
  %l_tensor = bufferization.to_tensor %l restrict : memref<2x4x40xf32> to tensor<2x4x40xf32>
  %e:2 = call @blocks_reference(%q_tensor, %k_tensor, %v_tensor, %s_tensor) : (tensor<2x40x4x8xf32>, tensor<2x50x2x8xf32>, tensor<2x50x2x8xf32>, tensor<4xf32>) -> (tensor<2x40x4x8xf32>, tensor<2x4x40xf32>)
  %zero = arith.constant dense<0.0> : tensor<f32>
  %d0 = arith.subf %o_tensor, %e#0 : tensor<2x40x4x8xf32>
  %a0 = math.absf %d0 : tensor<2x40x4x8xf32>
  %m0 = linalg.reduce { arith.maximumf } ins(%a0 : tensor<2x40x4x8xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2, 3]
  %r0 = tensor.extract %m0[] : tensor<f32>
  %d1 = arith.subf %l_tensor, %e#1 : tensor<2x4x40xf32>
  %a1 = math.absf %d1 : tensor<2x4x40xf32>
  %m1 = linalg.reduce { arith.maximumf } ins(%a1 : tensor<2x4x40xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2]
  %r1 = tensor.extract %m1[] : tensor<f32>
  return %r0, %r1 : f32, f32
}

func.func @splits_reference(%q: tensor<2x40x4x8xf32>, %k: tensor<2x50x2x8xf32>, %v: tensor<2x50x2x8xf32>, %s: tensor<4xf32>) -> (tensor<2x40x4x8xf32>, tensor<2x4x40xf32>) {
  %c = arith.constant 3.0 : f32
  %scale = arith.constant 0.375 : f32
  %left = arith.constant 20 : index
  %right = arith.constant 3 : index
  %o = tensor.empty() : tensor<2x40x4x8xf32>
  %l = tensor.empty() : tensor<2x4x40xf32>
  %r:2 = fa.attention ins(%q, %k, %v : tensor<2x40x4x8xf32>, tensor<2x50x2x8xf32>, tensor<2x50x2x8xf32>) outs(%o, %l : tensor<2x40x4x8xf32>, tensor<2x4x40xf32>) scale(%scale)
      mask window(%left, %right)
  return %r#0, %r#1 : tensor<2x40x4x8xf32>, tensor<2x4x40xf32>
}

func.func @splits_difference(%q: memref<2x40x4x8xf32>, %k: memref<2x50x2x8xf32>, %v: memref<2x50x2x8xf32>, %s: memref<4xf32>) -> (f32, f32) {
  %o = memref.alloc() : memref<2x40x4x8xf32>
  %l = memref.alloc() : memref<2x4x40xf32>
  %q_strided = memref.cast %q : memref<2x40x4x8xf32> to memref<2x40x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>
  %k_strided = memref.cast %k : memref<2x50x2x8xf32> to memref<2x50x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>
  %v_strided = memref.cast %v : memref<2x50x2x8xf32> to memref<2x50x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>
  %s_strided = memref.cast %s : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
  %o_strided = memref.cast %o : memref<2x40x4x8xf32> to memref<2x40x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>
  %l_strided = memref.cast %l : memref<2x4x40xf32> to memref<2x4x40xf32, strided<[?, ?, 1], offset: ?>>
  call @splits(%q_strided, %k_strided, %v_strided, %s_strided, %o_strided, %l_strided) : (memref<2x40x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<2x50x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<2x50x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<4xf32, strided<[1], offset: ?>>, memref<2x40x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<2x4x40xf32, strided<[?, ?, 1], offset: ?>>) -> ()
  %q_tensor = bufferization.to_tensor %q restrict : memref<2x40x4x8xf32> to tensor<2x40x4x8xf32>
  %k_tensor = bufferization.to_tensor %k restrict : memref<2x50x2x8xf32> to tensor<2x50x2x8xf32>
  %v_tensor = bufferization.to_tensor %v restrict : memref<2x50x2x8xf32> to tensor<2x50x2x8xf32>
  %s_tensor = bufferization.to_tensor %s restrict : memref<4xf32> to tensor<4xf32>
  %o_tensor = bufferization.to_tensor %o restrict : memref<2x40x4x8xf32> to tensor<2x40x4x8xf32>
  %l_tensor = bufferization.to_tensor %l restrict : memref<2x4x40xf32> to tensor<2x4x40xf32>
  %e:2 = call @splits_reference(%q_tensor, %k_tensor, %v_tensor, %s_tensor) : (tensor<2x40x4x8xf32>, tensor<2x50x2x8xf32>, tensor<2x50x2x8xf32>, tensor<4xf32>) -> (tensor<2x40x4x8xf32>, tensor<2x4x40xf32>)
  %zero = arith.constant dense<0.0> : tensor<f32>
  %d0 = arith.subf %o_tensor, %e#0 : tensor<2x40x4x8xf32>
  %a0 = math.absf %d0 : tensor<2x40x4x8xf32>
  %m0 = linalg.reduce { arith.maximumf } ins(%a0 : tensor<2x40x4x8xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2, 3]
  %r0 = tensor.extract %m0[] : tensor<f32>
  %d1 = arith.subf %l_tensor, %e#1 : tensor<2x4x40xf32>
  %a1 = math.absf %d1 : tensor<2x4x40xf32>
  %m1 = linalg.reduce { arith.maximumf } ins(%a1 : tensor<2x4x40xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2]
  %r1 = tensor.extract %m1[] : tensor<f32>
  return %r0, %r1 : f32, f32
}

func.func @heads_first_reference(%q: tensor<2x4x40x8xf32>, %k: tensor<2x2x50x8xf32>, %v: tensor<2x2x50x8xf32>, %s: tensor<4xf32>) -> (tensor<2x4x40x8xf32>, tensor<2x4x40xf32>) {
  %c = arith.constant 3.0 : f32
  %scale = arith.constant 0.375 : f32
  %left = arith.constant 20 : index
  %right = arith.constant 3 : index
  %o = tensor.empty() : tensor<2x4x40x8xf32>
  %l = tensor.empty() : tensor<2x4x40xf32>
  %r:2 = fa.attention ins(%q, %k, %v : tensor<2x4x40x8xf32>, tensor<2x2x50x8xf32>, tensor<2x2x50x8xf32>) outs(%o, %l : tensor<2x4x40x8xf32>, tensor<2x4x40xf32>) scale(%scale)
      mask causal {query_dims = #fa.dims<b, h, s, d>, key_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>, output_dims = #fa.dims<b, h, s, d>}
  return %r#0, %r#1 : tensor<2x4x40x8xf32>, tensor<2x4x40xf32>
}

func.func @heads_first_difference(%q: memref<2x4x40x8xf32>, %k: memref<2x2x50x8xf32>, %v: memref<2x2x50x8xf32>, %s: memref<4xf32>) -> (f32, f32) {
  %o = memref.alloc() : memref<2x4x40x8xf32>
  %l = memref.alloc() : memref<2x4x40xf32>
  %q_strided = memref.cast %q : memref<2x4x40x8xf32> to memref<2x4x40x8xf32, strided<[?, ?, ?, 1], offset: ?>>
  %k_strided = memref.cast %k : memref<2x2x50x8xf32> to memref<2x2x50x8xf32, strided<[?, ?, ?, 1], offset: ?>>
  %v_strided = memref.cast %v : memref<2x2x50x8xf32> to memref<2x2x50x8xf32, strided<[?, ?, ?, 1], offset: ?>>
  %s_strided = memref.cast %s : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
  %o_strided = memref.cast %o : memref<2x4x40x8xf32> to memref<2x4x40x8xf32, strided<[?, ?, ?, 1], offset: ?>>
  %l_strided = memref.cast %l : memref<2x4x40xf32> to memref<2x4x40xf32, strided<[?, ?, 1], offset: ?>>
  call @heads_first(%q_strided, %k_strided, %v_strided, %s_strided, %o_strided, %l_strided) : (memref<2x4x40x8xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<2x2x50x8xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<2x2x50x8xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<4xf32, strided<[1], offset: ?>>, memref<2x4x40x8xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<2x4x40xf32, strided<[?, ?, 1], offset: ?>>) -> ()
  %q_tensor = bufferization.to_tensor %q restrict : memref<2x4x40x8xf32> to tensor<2x4x40x8xf32>
  %k_tensor = bufferization.to_tensor %k restrict : memref<2x2x50x8xf32> to tensor<2x2x50x8xf32>
  %v_tensor = bufferization.to_tensor %v restrict : memref<2x2x50x8xf32> to tensor<2x2x50x8xf32>
  %s_tensor = bufferization.to_tensor %s restrict : memref<4xf32> to tensor<4xf32>
  %o_tensor = bufferization.to_tensor %o restrict : memref<2x4x40x8xf32> to tensor<2x4x40x8xf32>
  %l_tensor = bufferization.to_tensor %l restrict : memref<2x4x40xf32> to tensor<2x4x40xf32>
  %e:2 = call @heads_first_reference(%q_tensor, %k_tensor, %v_tensor, %s_tensor) : (tensor<2x4x40x8xf32>, tensor<2x2x50x8xf32>, tensor<2x2x50x8xf32>, tensor<4xf32>) -> (tensor<2x4x40x8xf32>, tensor<2x4x40xf32>)
  %zero = arith.constant dense<0.0> : tensor<f32>
  %d0 = arith.subf %o_tensor, %e#0 : tensor<2x4x40x8xf32>
  %a0 = math.absf %d0 : tensor<2x4x40x8xf32>
  %m0 = linalg.reduce { arith.maximumf } ins(%a0 : tensor<2x4x40x8xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2, 3]
  %r0 = tensor.extract %m0[] : tensor<f32>
  %d1 = arith.subf %l_tensor, %e#1 : tensor<2x4x40xf32>
  %a1 = math.absf %d1 : tensor<2x4x40xf32>
  %m1 = linalg.reduce { arith.maximumf } ins(%a1 : tensor<2x4x40xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2]
  %r1 = tensor.extract %m1[] : tensor<f32>
  return %r0, %r1 : f32, f32
}
