
6
xPlaceholder*
dtype0*
shape:
!
bConst*
valueB
8
'
pConst*
valueB88

ySpaceToBatchNDxbp