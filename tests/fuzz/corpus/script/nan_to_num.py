class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    y = torch.div(torch.sub(x, 1), torch.sub(x, x))
    return torch.nan_to_num(y, 5, 7)
