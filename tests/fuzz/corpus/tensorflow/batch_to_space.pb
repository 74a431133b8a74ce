
6
xPlaceholder*
dtype0*
shape:
!
bConst*
valueB
8
'
cConst*
valueB88

yBatchToSpaceNDxbc