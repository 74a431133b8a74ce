class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    return __torch__.Pair(x, self.w)
class Pair(NamedTuple):
  left : Tensor
  right : Tensor
