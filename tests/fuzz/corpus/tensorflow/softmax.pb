
2
xPlaceholder*
dtype0*
shape
:

zSubxx

ySoftmaxz