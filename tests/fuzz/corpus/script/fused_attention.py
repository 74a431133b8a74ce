class Net(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    y = torch.unsqueeze(x, 0)
    w = self.w
    a, b, = torch._native_multi_head_attention(y, y, y, 2, 1, torch.cat([w, w, w]), torch.zeros([6]), w, torch.zeros([2]), None, False, True, None)
    c = __torch__.attend(y, w)
    return torch.mul(torch.lt(torch.abs(torch.sub(a, c)), 0.0001), 1.)
def attend(y: Tensor, w: Tensor) -> Tensor:
  q = torch.linear(y, w)
  s = torch.div(torch.matmul(q, torch.transpose(q, 1, 2)), torch.sqrt(2))
  return torch.linear(torch.matmul(torch.softmax(s, -1), q), w)
