
.
xPlaceholder*
dtype0*
shape:

mNegx

y	LeakyRelum