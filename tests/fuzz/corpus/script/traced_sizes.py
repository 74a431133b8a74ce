class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    n = ops.prim.NumToTensor(torch.size(x, 0))
    m = torch.mul(n, CONSTANTS.c0)
    k = int(torch.select(m, 0, 1))
    return torch.view(x, [k, -1])
