
.
xPlaceholder*
dtype0*
shape:

cConst*
value
B

yAddxc