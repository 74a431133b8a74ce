class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    a = "x\n" if torch.lt(1, 2.) else "y"
    if a == 'x\012' and not torch.__contains__([1, 2], 3) or False:
      y : Optional[Tensor] = torch.mul(x, -inf if 2 ** 3 == 9 else 2)
    else:
      y = None
    return unchecked_cast(Tensor, y)
