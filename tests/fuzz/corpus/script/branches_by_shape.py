class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    if torch.eq(torch.dim(x), 2):
      y = torch.neg(x)
    else:
      ops.prim.RaiseException("no")
      y = uninitialized(Tensor)
    return y
