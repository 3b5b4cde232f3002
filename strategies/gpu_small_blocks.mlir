// Blocks of 64 queries and 64 keys for a GPU, where there are few queries.
//
// The table's blocks of 128 queries share keys among more rows; half of that
// gives twice as many blocks to spread over the multiprocessors, and leaves
// registers for score functions and masks. Blocks that do not fit sm_80 would be
// refused here, with the nearest ones that do.
//
//   fa-run FILE --strategy=strategies/gpu_small_blocks.mlir --target=interpret --verify

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %attention = transform.structured.match ops{["fa.attention"]} in %module
        : (!transform.any_op) -> !transform.any_op
    transform.fa.configure %attention
        with(#fa.config<query_block = 64, key_block = 64>) on("sm_80") : !transform.any_op
    transform.yield
  }
}
