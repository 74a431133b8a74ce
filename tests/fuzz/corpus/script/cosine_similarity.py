class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    y = torch.cosine_similarity(x, self.w, 1)
    return torch.round(torch.mul(y, 1000))
