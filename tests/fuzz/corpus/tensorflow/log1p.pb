
.
xPlaceholder*
dtype0*
shape:

yLog1px