class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    y = torch.clone(x)
    r = torch.select(y, 1, 0)
    _0 = torch.mul_(torch.slice(r, 0, 1, 2), 10)
    return y
