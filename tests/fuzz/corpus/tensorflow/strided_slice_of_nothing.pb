
.
xPlaceholder*
dtype0*
shape:
!
bConst*
valueB
8
!
eConst*
valueB
8
!
sConst*
valueB
8

yStridedSlicexbes