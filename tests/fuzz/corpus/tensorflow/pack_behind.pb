
.
xPlaceholder*
dtype0*
shape:
-
yPackxx*
axisÿÿÿÿÿÿÿÿÿ*
N