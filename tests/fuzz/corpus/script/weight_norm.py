class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    w = torch._weight_norm(self.w, torch.reshape(torch.tensor([5., 10.]), [2, 1]), 0)
    y = torch.mul(w, w)
    return torch.round(torch.sum(y, [1]))
