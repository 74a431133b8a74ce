class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    if isinstance(x, Tensor):
      y = torch.max(x, 1)
    else:
      pass
    v, i, = y
    return torch.add(v, torch.size(i, 0))
