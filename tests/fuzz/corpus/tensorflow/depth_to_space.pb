
:
xPlaceholder*
dtype0*
shape:
&
yDepthToSpacex*

block_size