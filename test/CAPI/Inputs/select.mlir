llvm.func @kernel() attributes {fagpu.kernel = "sm_80", nvvm.kernel} {
  nvvm.fence.mbarrier.init
  llvm.return
}
