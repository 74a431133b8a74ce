
:
xPlaceholder*
dtype0*
shape:
#
sConst*
valueB88

yResizeBilinearxs