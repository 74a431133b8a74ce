
.
xPlaceholder*
dtype0*
shape:

yAddNxxx*
N