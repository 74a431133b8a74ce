
:
xPlaceholder*
dtype0*
shape:
#
sConst*
valueB88
5
yResizeNearestNeighborxs*
align_corners(