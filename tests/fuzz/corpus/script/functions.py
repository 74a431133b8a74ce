class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    _0 = __torch__.add_n
    return _0(x, n=self.n, )
def add_n(y: Tensor,
    n: int) -> Tensor:
  return torch.add(y, n)
