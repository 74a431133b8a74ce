class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    y = torch.reshape(torch.clone(x), [1, 2, 2])
    _0 = torch.select(torch.permute(y, [2, 0, 1]), 0, 1)
    _1 = torch.mul_(_0, 10)
    return y
