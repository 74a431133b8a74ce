class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    a, b, = torch.broadcast_tensors([x, torch.tensor([10., 20.])])
    return torch.add(a, b)
