class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    y = torch.clone(x)
    _0 = torch.copy_(torch.select(y, 0, 1), torch.tensor([7, 8]))
    return y
