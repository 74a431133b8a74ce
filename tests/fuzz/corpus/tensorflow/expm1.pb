
.
xPlaceholder*
dtype0*
shape:

yExpm1x