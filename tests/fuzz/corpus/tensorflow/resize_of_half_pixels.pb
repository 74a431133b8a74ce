
:
xPlaceholder*
dtype0*
shape:
#
sConst*
valueB88
3
yResizeBilinearxs*
half_pixel_centers(