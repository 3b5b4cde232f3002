// RUN: fa-opt %s -fa-split-keys -canonicalize -cse | FileCheck %s
// RUN: fa-opt %s -fa-split-keys -o /dev/null --remark-format=emitRemark --remarks-filter=fa-split-keys 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-DAG: #[[$FIRST:.+]] = affine_map<()[s0, s1] -> (s1, s0)>
// CHECK-DAG: #[[$SIZE:.+]] = affine_map<()[s0, s1] -> (512, s0 - s1)>
// CHECK-DAG: #[[$EQUAL:.+]] = affine_map<()[s0] -> ((s0 ceildiv 128) * 32)>
// CHECK-DAG: #[[$REST:.+]] = affine_map<()[s0, s1] -> ((s0 ceildiv 128) * 32, s0 - s1)>

// Parts of a fixed size: as many as all keys need, of which a batch item has its own.

// CHECK-LABEL: func.func @sizes(
// CHECK-SAME:    %{{.+}}: memref<?x1x8x64xf16>, %[[K:[a-z0-9]+]]: memref<?x?x2x64xf16>, %[[O:[a-z0-9]+]]: memref<?x1x8x64xf16>
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C512:.+]] = arith.constant 512 : index
// CHECK:         %[[KEYS:.+]] = memref.dim %[[K]], %[[C1]]
// CHECK:         %[[MANY:.+]] = arith.ceildivui %[[KEYS]], %[[C512]]
// CHECK:         %[[PARTS:.+]] = arith.maxui %[[MANY]], %[[C1]]
// CHECK:         %[[SLOTS:.+]] = arith.muli %[[B:.+]], %[[PARTS]]
// CHECK:         %[[OS:.+]] = memref.alloc(%[[SLOTS]]) {{.*}} : memref<?x1x8x64xf32>
// CHECK:         %[[LSES:.+]] = memref.alloc(%[[SLOTS]]) {{.*}} : memref<?x8x1xf32>
// CHECK:         scf.forall (%[[P:.+]], %[[I:.+]], %[[H:.+]]) in (%[[PARTS]], %[[B]], 8) {
// CHECK:           %[[OWN:.+]] = arith.muli %[[I]], %[[PARTS]]
// CHECK:           %[[SLOT:.+]] = arith.addi %[[OWN]], %[[P]]
// CHECK:           %[[LENGTH:.+]] = arith.select
// CHECK:           %[[AT:.+]] = arith.muli %[[P]], %[[C512]]
// CHECK:           %[[BEGIN:.+]] = affine.min #[[$FIRST]]()[%[[AT]], %[[LENGTH]]]
// CHECK:           %[[COUNT:.+]] = affine.min #[[$SIZE]]()[%[[LENGTH]], %[[BEGIN]]]
// CHECK:           %[[K1:.+]] = memref.subview %[[K]][%[[I]], %[[BEGIN]], %{{.+}}, 0] [1, %[[COUNT]], 1, 64]
// CHECK:           %[[O1:.+]] = memref.subview %[[OS]][%[[SLOT]], 0, %[[H]], 0] [1, 1, 1, 64]
// CHECK:           %[[L1:.+]] = memref.subview %[[LSES]][%[[SLOT]], %[[H]], 0] [1, 1, 1]
// CHECK:           fa.attention ins(%{{.+}}, %[[K1]], %[[K1]] : {{.+}} outs(%[[O1]], %[[L1]] :
// CHECK-SAME:          offsets(%[[I]], %[[H]], %[[C0]], %[[BEGIN]]) extents(%[[C1]], %[[LENGTH]])
// CHECK:               {config = #fa.config<query_block = 16, key_block = 128>}
// CHECK:         scf.forall (%[[I:.+]], %[[H:.+]]) in (%[[B]], 8) {
// CHECK:           %[[O2:.+]] = memref.subview %[[O]][%[[I]], 0, %[[H]], 0]
// CHECK:           %[[R:.+]]:3 = scf.for %[[P:.+]] = %[[C0]] to %[[PARTS]] step %[[C1]] iter_args(%[[A:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}}, %[[S:.+]] = %{{.+}})
// CHECK:             %[[OWN:.+]] = arith.muli %[[I]], %[[PARTS]]
// CHECK:             %[[SLOT:.+]] = arith.addi %[[OWN]], %[[P]]
// CHECK:             %[[O1:.+]] = memref.subview %[[OS]][%[[SLOT]], 0, %[[H]], 0]
// CHECK:             %[[L1:.+]] = memref.subview %[[LSES]][%[[SLOT]], %[[H]], 0]
// CHECK:             fa.add_partial ins(%[[O1]], %[[L1]] : {{.+}}) outs(%[[A]], %[[M]], %[[S]] : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
// CHECK:           fa.finalize ins(%[[R]]#0, %[[R]]#1, %[[R]]#2 : {{.+}}) outs(%[[O2]], %{{.+}} : {{.+}})
// CHECK:         memref.dealloc %[[OS]]
// CHECK:         memref.dealloc %[[LSES]]
func.func @sizes(%q: memref<?x1x8x64xf16>, %k: memref<?x?x2x64xf16>, %o: memref<?x1x8x64xf16>, %lse: memref<?x8x1xf32>,
                 %lengths: memref<?xi32>) {
  fa.attention ins(%q, %k, %k : memref<?x1x8x64xf16>, memref<?x?x2x64xf16>, memref<?x?x2x64xf16>)
      outs(%o, %lse : memref<?x1x8x64xf16>, memref<?x8x1xf32>) key_lengths(%lengths : memref<?xi32>) mask causal
      {config = #fa.config<query_block = 16, key_block = 128, split_keys = 512>}
  return
}

// So many parts of each sequence, by its own length; in pages, with a sink that is of the first part.

// CHECK-LABEL: func.func @counts(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK:         %[[OS:.+]] = memref.alloc() {{.*}} : memref<12x4x8x32xf32>
// CHECK:         scf.forall (%[[P:.+]], %{{.+}}, %{{.+}}) in (4, 3, 8) {
// CHECK:           %[[OF_POOL:.+]] = scf.for
// CHECK:           %[[PAGES:.+]] = arith.cmpi ne, %[[OF_POOL]]
// CHECK:           %[[VALID:.+]] = arith.andi %{{.+}}, %[[PAGES]]
// CHECK:           %[[KEYS:.+]] = arith.select %[[VALID]], %{{.+}}, %[[C0]]
// CHECK:           %[[EQUAL:.+]] = affine.apply #[[$EQUAL]]()[%[[KEYS]]]
// CHECK:           %[[AT:.+]] = arith.muli %[[P]], %[[EQUAL]]
// CHECK:           %[[BEGIN:.+]] = affine.min #[[$FIRST]]()[%[[AT]], %[[KEYS]]]
// CHECK:           %[[COUNT:.+]] = affine.min #[[$REST]]()[%[[KEYS]], %[[BEGIN]]]
// CHECK:           %[[ROWS:.+]] = fa.paged_rows {{.*}} count(%[[KEYS]])
// CHECK:           memref.subview %[[ROWS]][0, %[[BEGIN]], 0, 0] [1, %[[COUNT]], 1, 64]
// CHECK:           %[[IS_FIRST:.+]] = arith.cmpi eq, %[[P]], %[[C0]]
// CHECK:           fa.attention
// CHECK-SAME:          sink({{.+}}) captures({{.+}}, %{{.+}} = %[[IS_FIRST]] : i1, %{{.+}} = %[[VALID]] : i1)
// CHECK:         scf.forall (%{{.+}}, %{{.+}}) in (3, 8) {
// CHECK:           scf.for
// CHECK:           fa.finalize {{.*}} {output_dims = #fa.dims<b, h, s, d>}
func.func @counts(%q: memref<3x4x8x64xf32>, %pool: memref<?x16x8x64xf32>, %o: memref<3x8x4x32xf32>, %values: memref<?x8x16x32xf32>,
                  %lengths: memref<3xi32>, %table: memref<3x?xi32>, %sinks: memref<8xf32>) {
  fa.attention ins(%q, %pool, %values : memref<3x4x8x64xf32>, memref<?x16x8x64xf32>, memref<?x8x16x32xf32>)
      outs(%o : memref<3x8x4x32xf32>) key_lengths(%lengths : memref<3xi32>) key_pages(%table : memref<3x?xi32>)
      sink(%b, %h, %i) captures(%t = %sinks : memref<8xf32>) {
        %x = memref.load %t[%h] : memref<8xf32>
        fa.yield %x : f32
      }
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, h, s, d>, output_dims = #fa.dims<b, h, s, d>,
       config = #fa.config<query_block = 16, key_block = 32, key_splits = 4>}
  return
}

// Packed queries have rows of their own in the memory of each part. The longest sequence says how many parts there are.

// CHECK-LABEL: func.func @packed(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x8x64xf32>
// CHECK:         %[[MOST:.+]] = scf.for
// CHECK:         %[[MANY:.+]] = arith.ceildivui %[[MOST]], %{{.+}}
// CHECK:         %[[PARTS:.+]] = arith.maxui %[[MANY]]
// CHECK:         %[[OS:.+]] = memref.alloc(%[[PARTS]], %{{.+}}) {{.*}} : memref<?x?x8x64xf32>
// CHECK:         scf.forall (%[[P:.+]], %[[T:.+]]) in (%[[PARTS]], %{{.+}}) {
// CHECK:           scf.while
// CHECK:             scf.yield
// CHECK:           %[[COUNT:.+]] = arith.select {{.+}} : index
// CHECK:           %[[AT:.+]] = arith.select {{.+}} : index
// CHECK:           %[[H:.+]] = arith.divui %[[AT]], %[[COUNT]]
// CHECK:           memref.subview %[[OS]][%[[P]], %{{.+}}, %[[H]], 0] [1, %{{.+}}, 1, 64]
func.func @packed(%q: memref<?x8x64xf32>, %k: memref<?x8x64xf32>, %o: memref<?x8x64xf32>, %starts: memref<?xi32>) {
  fa.attention ins(%q, %k, %k : memref<?x8x64xf32>, memref<?x8x64xf32>, memref<?x8x64xf32>) outs(%o : memref<?x8x64xf32>)
      query_starts(%starts : memref<?xi32>) key_starts(%starts : memref<?xi32>) mask causal
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>,
       output_dims = #fa.dims<s, h, d>, config = #fa.config<query_block = 64, key_block = 32, split_keys = 256>}
  return
}

// Left to fa-split-kv: pieces and tensors. Whole: one part.

// CHECK-LABEL: func.func @left_alone(
// CHECK-NOT:     scf.forall
// CHECK:         key_splits = 2
// CHECK-NOT:     scf.forall
// CHECK:         key_splits = 2
// CHECK-NOT:     scf.forall
// CHECK:         return
func.func @left_alone(%q: memref<1x1x2x64xf32>, %k: memref<1x?x2x64xf32>, %t: tensor<1x1x2x64xf32>, %c: index) -> tensor<1x1x2x64xf32> {
  fa.attention ins(%q, %k, %k : memref<1x1x2x64xf32>, memref<1x?x2x64xf32>, memref<1x?x2x64xf32>) outs(%q : memref<1x1x2x64xf32>)
      offsets(%c, %c, %c, %c) {config = #fa.config<query_block = 16, key_block = 128, key_splits = 2>}
  %r = fa.attention ins(%t, %t, %t : tensor<1x1x2x64xf32>, tensor<1x1x2x64xf32>, tensor<1x1x2x64xf32>) outs(%t : tensor<1x1x2x64xf32>)
      {config = #fa.config<query_block = 16, key_block = 128, key_splits = 2>}
  fa.attention ins(%q, %k, %k : memref<1x1x2x64xf32>, memref<1x?x2x64xf32>, memref<1x?x2x64xf32>) outs(%q : memref<1x1x2x64xf32>)
      {config = #fa.config<query_block = 16, key_block = 128>}
  return %r : tensor<1x1x2x64xf32>
}

// Parts on a GPU are multiples of 8 keys, and end where a sequence would: in pages, of those that one block has. With dropout
// they are multiples of the pairs that share a draw.

// CHECK-LABEL: func.func @on_gpu(
// CHECK-DAG:     %[[C8:.+]] = arith.constant 8 : index
// CHECK:         %[[UNITS:.+]] = arith.ceildivsi %{{.+}}, %[[C8]]
// CHECK:         %[[OF_PART:.+]] = arith.ceildivsi %[[UNITS]], %{{.+}}
// CHECK:         arith.muli %[[OF_PART]], %[[C8]]
func.func @on_gpu(%q: memref<1x1x4x64xbf16>, %k: memref<1x?x4x64xbf16>, %o: memref<1x1x4x64xbf16>) {
  fa.attention ins(%q, %k, %k : memref<1x1x4x64xbf16>, memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>) outs(%o : memref<1x1x4x64xbf16>)
      {config = #fa.config<query_block = 64, key_block = 128, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>}
  return
}

// CHECK-LABEL: func.func @in_pages(
// CHECK-DAG:     %[[C32:.+]] = arith.constant 32 : index
// CHECK-DAG:     %[[C128:.+]] = arith.constant 128 : index
// CHECK:         %[[UNITS:.+]] = arith.ceildivsi %{{.+}}, %[[C32]]
// CHECK:         %[[UNITS:.+]] = arith.ceildivsi %{{.+}}, %[[C128]]
func.func @in_pages(%q: memref<1x1x4x64xbf16>, %small: memref<?x32x4x64xbf16>, %large: memref<?x256x4x64xbf16>,
                    %lengths: memref<1xi32>, %table: memref<1x?xi32>, %o: memref<1x1x4x64xbf16>) {
  fa.attention ins(%q, %small, %small : memref<1x1x4x64xbf16>, memref<?x32x4x64xbf16>, memref<?x32x4x64xbf16>) outs(%o : memref<1x1x4x64xbf16>)
      key_lengths(%lengths : memref<1xi32>) key_pages(%table : memref<1x?xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>,
       config = #fa.config<query_block = 64, key_block = 128, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>}
  fa.attention ins(%q, %large, %large : memref<1x1x4x64xbf16>, memref<?x256x4x64xbf16>, memref<?x256x4x64xbf16>) outs(%o : memref<1x1x4x64xbf16>)
      key_lengths(%lengths : memref<1xi32>) key_pages(%table : memref<1x?xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>,
       config = #fa.config<query_block = 64, key_block = 128, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>}
  return
}

// Rows in pages of 100, which are found one by one, ask for no more than without pages.
// CHECK-LABEL: func.func @by_row(
// CHECK-DAG:     %[[C8:.+]] = arith.constant 8 : index
// CHECK:         arith.ceildivsi %{{.+}}, %[[C8]]
func.func @by_row(%q: memref<1x1x4x64xbf16>, %k: memref<?x100x4x64xbf16>, %lengths: memref<1xi32>, %table: memref<1x?xi32>, %o: memref<1x1x4x64xbf16>) {
  fa.attention ins(%q, %k, %k : memref<1x1x4x64xbf16>, memref<?x100x4x64xbf16>, memref<?x100x4x64xbf16>) outs(%o : memref<1x1x4x64xbf16>)
      key_lengths(%lengths : memref<1xi32>) key_pages(%table : memref<1x?xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>,
       config = #fa.config<query_block = 64, key_block = 128, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>}
  return
}

// CHECK-LABEL: func.func @dropout(
// CHECK-DAG:     %[[C16:.+]] = arith.constant 16 : index
// CHECK:         arith.ceildivsi %{{.+}}, %[[C16]]
func.func @dropout(%q: memref<1x1x4x64xbf16>, %k: memref<1x?x4x64xbf16>, %o: memref<1x1x4x64xbf16>, %p: f32, %seed: i64) {
  fa.attention ins(%q, %k, %k : memref<1x1x4x64xbf16>, memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>) outs(%o : memref<1x1x4x64xbf16>)
      score(%s, %b, %h, %i, %j) captures(%c = %p : f32, %n = %seed : i64) {
        %f = fa.dropout %c, %n, %n at(%b, %h, %i, %j)
        %x = arith.mulf %s, %f : f32
        fa.yield %x : f32
      }
      {config = #fa.config<query_block = 64, key_block = 128, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>}
  return
}

// Lengths that only the device knows: a list of shares, unless there is one sequence. Each iteration adds up the units of 64 keys of
// all sequences, and of those ahead, and lists the parts that its sequence has in shares of one size.

// CHECK-LABEL: func.func @ragged(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x1x4x64xbf16>, %[[K:[a-z0-9]+]]: memref<?x?x4x64xbf16>, %[[O:[a-z0-9]+]]: memref<?x1x4x64xbf16>
// CHECK-SAME:    %[[LENGTHS:[a-z0-9]+]]: memref<?xi32>
// CHECK:         %[[B:.+]] = memref.dim %[[Q]], %c0
// CHECK:         %[[ALL:.+]] = fagpu.multiprocessors
// CHECK:         %[[FITTING:.+]] = arith.divui %[[ALL]], %c4
// CHECK:         %[[SHARES:.+]] = arith.maxui %[[FITTING]], %c1
// CHECK:         %[[SLOTS:.+]] = arith.addi %[[B]], %[[SHARES]]
// CHECK:         %[[ITEMS:.+]] = arith.muli %[[SLOTS]], %c4
// CHECK:         %[[FEW:.+]] = arith.cmpi ule, %[[B]], %[[SHARES]]
// CHECK:         %[[ONE:.+]] = arith.cmpi ule, %[[B]], %c1
// CHECK:         scf.if %{{.+}} {
// CHECK-NOT:       fagpu.workspace
// CHECK:         } else {
// CHECK:           %[[OS:.+]] = memref.alloc(%[[SLOTS]]) {{.*}} : memref<?x1x4x64xf32>
// CHECK:           cf.assert %{{.+}}, "the list of parts of the keys has more than 2147483647 words
// CHECK:           %[[LIST:.+]] = fagpu.workspace(%{{.+}}) {fagpu.work_list} : memref<?xi32>
// CHECK:           scf.forall (%[[I:.+]]) in (%[[B]]) {
// CHECK:             %[[SUMS:.+]]:2 = scf.parallel (%[[OTHER:.+]]) = (%c0) to (%[[B]])
// CHECK:               memref.load %[[LENGTHS]][%[[OTHER]]]
// CHECK:               arith.cmpi slt, %[[OTHER]], %[[I]]
// CHECK:             %[[LENGTH:.+]] = memref.load %[[LENGTHS]][%[[I]]]
// CHECK:             %[[BEFORE:.+]] = arith.index_cast %[[SUMS]]#0
// CHECK:             %[[UNITS:.+]] = arith.index_cast %[[SUMS]]#1
// CHECK:             %[[EVEN:.+]] = arith.divui %{{.+}}, %[[SHARES]]
// CHECK:             %[[OF_SHARE:.+]] = arith.maxui %[[EVEN]], %c4
// CHECK:             arith.divui %[[BEFORE]], %[[OF_SHARE]]
// CHECK:             scf.parallel (%[[ITEM:.+]]) =
// CHECK-COUNT-6:       memref.store %{{.+}}, %[[LIST]]
// CHECK:               memref.store %[[LENGTH]], %[[LIST]]
// The first and the last item of a block:
// CHECK:               scf.if
// CHECK:                 memref.store %{{.+}}, %[[LIST]]
// CHECK:               scf.if
// CHECK:                 memref.store %{{.+}}, %[[LIST]]
// The merge of the sequence, or of the share that it goes on behind:
// CHECK:               scf.if
// CHECK:                 scf.if
// CHECK:                   arith.select %[[FEW]], %[[I]], %{{.+}} : index
// CHECK-COUNT-3:           memref.store %{{.+}}, %[[LIST]]
// Slots and blocks without work have an item of no queries.
// CHECK:             scf.parallel
// CHECK-COUNT-7:       memref.store %{{.+}}, %[[LIST]]
// CHECK:             scf.parallel
// CHECK-COUNT-7:       memref.store %{{.+}}, %[[LIST]]
// CHECK:             scf.parallel
// CHECK-COUNT-2:       memref.store %{{.+}}, %[[LIST]]
// Shares without work have no merge.
// CHECK:             scf.parallel
// CHECK-COUNT-3:       memref.store %{{.+}}, %[[LIST]]
// CHECK:           %[[WORD:.+]] = memref.load %[[LIST]][%c0]
// CHECK:           %[[LISTED:.+]] = arith.index_cast %[[WORD]]
// CHECK:           %[[COUNT:.+]] = arith.minsi %[[LISTED]], %[[ITEMS]]
// CHECK:           scf.forall (%[[T:.+]]) in (%[[COUNT]]) {
// CHECK-COUNT-6:     memref.load %[[LIST]]
// The length of its sequence comes with the item.
// CHECK-NOT:         memref.load %[[LENGTHS]]
// CHECK:             memref.load %[[LIST]]
// CHECK-NOT:         memref.load %[[LENGTHS]]
// CHECK:             memref.subview %[[K]]
// CHECK:             %[[PART:.+]] = memref.subview %[[OS]]
// CHECK:             fa.attention {{.*}} outs(%[[PART]],
// An item of all keys of its sequence is the result, which the merge leaves alone.
// CHECK:             %[[SUM:.+]], %[[MOST:.+]], %[[WEIGHT:.+]] = fa.add_partial ins(%[[PART]],
// CHECK:             %[[ROWS:.+]] = arith.select %{{.+}}, %c1, %c0
// CHECK:             %[[WHOLE:.+]] = memref.subview %[[O]][%{{.+}}] [1, %[[ROWS]], 1, 64]
// CHECK:             fa.finalize ins(%[[SUM]], %[[MOST]], %[[WEIGHT]] : {{.+}}) outs(%[[WHOLE]] : {{.+}}) {fa.sole_reader}
// No more sequences than shares have results to merge. A merge has its sequence, the first slot and the parts.
// CHECK:           %[[MERGES:.+]] = arith.minui %[[B]], %[[SHARES]]
// CHECK:           scf.forall (%[[I:.+]], %[[H:.+]]) in (%[[MERGES]], 4) {
// CHECK:             memref.load %[[LIST]]
// CHECK:             %[[SEQUENCE:.+]] = arith.andi
// CHECK:             memref.load %[[LIST]]
// CHECK:             %[[FIRST:.+]] = arith.andi
// CHECK:             memref.load %[[LIST]]
// CHECK:             %[[COUNT:.+]] = arith.andi
// CHECK:             %[[SPLIT:.+]] = arith.cmpi ugt, %[[COUNT]], %c1
// CHECK:             %[[PARTS:.+]] = arith.select %[[SPLIT]], %[[COUNT]], %c0
// CHECK:             scf.for %[[P:.+]] = %c0 to %[[PARTS]]
// CHECK:               %[[SLOT:.+]] = arith.addi %[[FIRST]], %[[P]]
// CHECK:               memref.subview %[[OS]][%[[SLOT]], 0, %[[H]], 0]
// CHECK:               fa.add_partial
// REMARK: remark: [Passed] Plan {{.*}}"a list of parts of at least 256 keys of sequences of any lengths"
func.func @ragged(%q: memref<?x1x4x64xbf16>, %k: memref<?x?x4x64xbf16>, %o: memref<?x1x4x64xbf16>, %lengths: memref<?xi32>) {
  fa.attention ins(%q, %k, %k : memref<?x1x4x64xbf16>, memref<?x?x4x64xbf16>, memref<?x?x4x64xbf16>) outs(%o : memref<?x1x4x64xbf16>)
      key_lengths(%lengths : memref<?xi32>)
      {config = #fa.config<query_block = 64, key_block = 64, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>}
  return
}

// No list: one sequence, lengths that all have, results that are the same in any batch, and blocks of threads of one tile each.

// CHECK-LABEL: func.func @not_listed(
// CHECK-NOT:     fagpu.workspace
// CHECK:         return
// REMARK-NOT:  remark
func.func @not_listed(%q: memref<1x1x4x64xbf16>, %qs: memref<?x1x4x64xbf16>, %k: memref<1x?x4x64xbf16>, %ks: memref<?x?x4x64xbf16>,
                      %o: memref<1x1x4x64xbf16>, %os: memref<?x1x4x64xbf16>, %length: memref<1xi32>, %lengths: memref<?xi32>) {
  fa.attention ins(%q, %k, %k : memref<1x1x4x64xbf16>, memref<1x?x4x64xbf16>, memref<1x?x4x64xbf16>) outs(%o : memref<1x1x4x64xbf16>)
      key_lengths(%length : memref<1xi32>)
      {config = #fa.config<query_block = 64, key_block = 64, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>}
  fa.attention ins(%qs, %ks, %ks : memref<?x1x4x64xbf16>, memref<?x?x4x64xbf16>, memref<?x?x4x64xbf16>) outs(%os : memref<?x1x4x64xbf16>)
      {config = #fa.config<query_block = 64, key_block = 64, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>}
  fa.attention ins(%qs, %ks, %ks : memref<?x1x4x64xbf16>, memref<?x?x4x64xbf16>, memref<?x?x4x64xbf16>) outs(%os : memref<?x1x4x64xbf16>)
      key_lengths(%lengths : memref<?xi32>)
      {batch_invariant, config = #fa.config<query_block = 64, key_block = 64, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>}
  fa.attention ins(%qs, %ks, %ks : memref<?x1x4x64xbf16>, memref<?x?x4x64xbf16>, memref<?x?x4x64xbf16>) outs(%os : memref<?x1x4x64xbf16>)
      key_lengths(%lengths : memref<?xi32>)
      {config = #fa.config<query_block = 64, key_block = 64, split_keys = 256, target = #fa.gpu<warps>>}
  return
}

// Two groups of warps have the rows of 16 tokens by 8 heads. Few sequences with few keys get parts for
// one group each, or blocks without parts, if these fill the device. Not of more keys, in pages, of rows that one group has, and of
// f32. Blocks of wide heads only have to fit.

// CHECK-LABEL: func.func @halves(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x128x4x128xbf16>, %[[K:[a-z0-9]+]]: memref<?x?x4x128xbf16>
// CHECK:         %[[BATCHES:.+]] = memref.dim %[[Q]], %c0
// CHECK:         %[[BLOCKS:.+]] = arith.muli %[[BATCHES]], %c8
// CHECK:         %[[ALL:.+]] = fagpu.multiprocessors
// CHECK:         %[[DIVISOR:.+]] = arith.maxui %[[BLOCKS]], %c1
// CHECK:         %[[PARTS:.+]] = arith.divui %[[ALL]], %[[DIVISOR]]
// CHECK:         %[[KEYS:.+]] = memref.dim %[[K]], %c1
// CHECK:         %[[OF_ONE:.+]] = arith.muli %[[KEYS]], %c4
// CHECK:         %[[ROWS:.+]] = arith.muli %[[BATCHES]], %[[OF_ONE]]
// CHECK:         %[[CACHED:.+]] = arith.cmpi ule, %[[ROWS]], %c262144
// CHECK:         %[[TWICE:.+]] = arith.cmpi ule, %[[ROWS]], %c524288
// CHECK:         %[[WHOLE:.+]] = arith.cmpi ule, %[[PARTS]], %c1
// CHECK:         %[[UNMERGED:.+]] = arith.andi %[[TWICE]], %[[WHOLE]]
// CHECK:         %[[FEW:.+]] = arith.ori %[[CACHED]], %[[UNMERGED]]
// CHECK:         %[[FIT:.+]] = arith.cmpi ule, %[[BLOCKS]], %[[ALL]]
// CHECK:         %[[FEW_FIT:.+]] = arith.andi %[[FEW]], %[[FIT]]
// CHECK:         %[[WANTED:.+]] = arith.muli %[[ALL]], %c5
// CHECK:         %[[BUSY:.+]] = arith.muli %[[BLOCKS]], %[[PARTS]]
// CHECK:         %[[SIXTHS:.+]] = arith.muli %[[BUSY]], %c6
// CHECK:         %[[FILLED:.+]] = arith.cmpi ule, %[[WANTED]], %[[SIXTHS]]
// CHECK:         %[[FASTER:.+]] = arith.andi %[[FEW_FIT]], %[[FILLED]]
// CHECK:         scf.if %[[FASTER]] {
// CHECK:           scf.if
// CHECK:             fa.attention {{.*}} outs(%{{.+}} : memref<?x128x4x128xbf16>) {config = #fa.config<query_block = 64, key_block = 128, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>}
// CHECK:           } else {
// CHECK:             fa.attention
// CHECK:               {config = #fa.config<query_block = 64, key_block = 128, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>}
// CHECK:         } else {
// CHECK:           fa.attention
// CHECK:             {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>}
func.func @halves(%q: memref<?x128x4x128xbf16>, %k: memref<?x?x4x128xbf16>, %o: memref<?x128x4x128xbf16>) {
  fa.attention ins(%q, %k, %k : memref<?x128x4x128xbf16>, memref<?x?x4x128xbf16>, memref<?x?x4x128xbf16>) outs(%o : memref<?x128x4x128xbf16>)
      {config = #fa.config<query_block = 128, key_block = 128, split_keys = 256, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>}
  return
}

// CHECK-LABEL: func.func @wide_halves(
// CHECK:         %[[BATCHES:.+]] = memref.dim
// CHECK:         %[[ALL:.+]] = fagpu.multiprocessors
// CHECK:         %[[FIT:.+]] = arith.cmpi ule, %{{.+}}, %[[ALL]]
// CHECK-NEXT:    %[[FEW_FIT:.+]] = arith.andi %{{.+}}, %[[FIT]]
// CHECK-NEXT:    %[[ONE:.+]] = arith.cmpi ule, %[[BATCHES]], %c1
// CHECK-NEXT:    %[[FASTER:.+]] = arith.andi %[[FEW_FIT]], %[[ONE]]
// CHECK-NEXT:    scf.if %[[FASTER]] {
// CHECK:           {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>}
// REMARK: remark: [Passed] Plan {{.*}}"a list of parts of at least 256 keys of sequences of any lengths"
func.func @wide_halves(%q: memref<?x128x4x256xbf16>, %k: memref<?x1000x4x256xbf16>, %lengths: memref<?xi32>, %o: memref<?x128x4x256xbf16>) {
  fa.attention ins(%q, %k, %k : memref<?x128x4x256xbf16>, memref<?x1000x4x256xbf16>, memref<?x1000x4x256xbf16>) outs(%o : memref<?x128x4x256xbf16>)
      key_lengths(%lengths : memref<?xi32>)
      {config = #fa.config<query_block = 128, key_block = 64, split_keys = 256, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>}
  return
}

// CHECK-LABEL: func.func @no_halves(
// CHECK-NOT:     query_block = 64
// CHECK:         return
func.func @no_halves(%q: memref<1x128x4x128xbf16>, %k: memref<1x140000x4x128xbf16>, %few: memref<1x64x4x128xbf16>, %pool: memref<?x128x4x128xbf16>,
                     %floats: memref<1x128x4x64xf32>, %float_keys: memref<1x512x4x64xf32>, %short: memref<1x512x4x128xbf16>, %lengths: memref<1xi32>, %table: memref<1x?xi32>) {
  fa.attention ins(%q, %k, %k : memref<1x128x4x128xbf16>, memref<1x140000x4x128xbf16>, memref<1x140000x4x128xbf16>) outs(%q : memref<1x128x4x128xbf16>)
      {config = #fa.config<query_block = 128, key_block = 128, split_keys = 256, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>}
  fa.attention ins(%few, %short, %short : memref<1x64x4x128xbf16>, memref<1x512x4x128xbf16>, memref<1x512x4x128xbf16>) outs(%few : memref<1x64x4x128xbf16>)
      {config = #fa.config<query_block = 128, key_block = 128, split_keys = 256, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>}
  fa.attention ins(%q, %pool, %pool : memref<1x128x4x128xbf16>, memref<?x128x4x128xbf16>, memref<?x128x4x128xbf16>) outs(%q : memref<1x128x4x128xbf16>)
      key_lengths(%lengths : memref<1xi32>) key_pages(%table : memref<1x?xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>,
       config = #fa.config<query_block = 128, key_block = 128, split_keys = 256, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>}
  fa.attention ins(%floats, %float_keys, %float_keys : memref<1x128x4x64xf32>, memref<1x512x4x64xf32>, memref<1x512x4x64xf32>) outs(%floats : memref<1x128x4x64xf32>)
      {config = #fa.config<query_block = 128, key_block = 128, split_keys = 256, target = #fa.gpu<warp_groups<groups = 2>, stages = 2>>}
  return
}
