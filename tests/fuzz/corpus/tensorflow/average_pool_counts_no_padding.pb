
:
xPlaceholder*
dtype0*
shape:
N
yAvgPoolx*
ksize

*
strides

*
paddingSAME