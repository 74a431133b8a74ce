
.
xPlaceholder*
dtype0*
shape:
!
mConst*
valueB
8

yTilexm