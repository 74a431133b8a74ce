
:
xPlaceholder*
dtype0*
shape:
&
ySpaceToDepthx*

block_size