class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    y = torch.clone(x)
    _0 = torch.mul_(torch.select(torch.transpose(y, 0, 1), 0, 0), 5)
    return y
