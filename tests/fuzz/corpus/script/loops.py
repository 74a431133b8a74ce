class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    y = x
    for i in range(torch.size(x, 0)):
      y0 = torch.add(y, i)
      y = y0
    k = 3
    while torch.gt(k, 1):
      k = torch.sub(k, 1)
      y = torch.mul(y, 2)
    return y
