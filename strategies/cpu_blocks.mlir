// Blocks of 64 queries and 512 keys, for long sequences on a CPU.
//
// Larger key blocks mean fewer rescalings of the accumulator, and the scores of
// a block (64 x 512 x 4 bytes) still fit a second-level cache; with a causal
// mask, more keys are computed that nobody sees. The loop over blocks is
// upstream's, the steps inside are this project's; the result is level 2.
//
//   fa-run FILE --strategy=strategies/cpu_blocks.mlir --verify

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %problem = transform.structured.match ops{["func.func"]} in %module
        : (!transform.any_op) -> !transform.any_op
    %function = transform.fa.results_to_out_parameters %problem
        : (!transform.any_op) -> !transform.any_op
    %attention = transform.structured.match ops{["fa.attention"]} in %function
        : (!transform.any_op) -> !transform.any_op
    transform.fa.configure %attention
        with(#fa.config<query_block = 64, key_block = 512>) : !transform.any_op
    %block, %loop = transform.structured.tile_using_forall %attention tile_sizes [1, 1, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %all_keys, %finalize = transform.fa.convert_to_online %block
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // The mask analysis reads bounds best in their canonical form. Clean-up may
    // copy loops, so the step is looked up again.
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    %online = transform.structured.match ops{["fa.online_attention"]} in %function
        : (!transform.any_op) -> !transform.any_op
    %ranges, %step = transform.fa.specialize_mask %online
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
