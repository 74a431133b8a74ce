class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    return torch.round(torch.mul(torch.cdist(x, self.w), 1000))
