class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    y = torch.reshape(x, [1, 1, 2, 2])
    z = torch._convolution_mode(y, torch.ones([1, 1, 2, 2]), None, [1, 1], "same", [1, 1], 1)
    return z
