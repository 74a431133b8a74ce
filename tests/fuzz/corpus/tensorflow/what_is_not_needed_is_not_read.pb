
.
xPlaceholder*
dtype0*
shape:

aAssertx^x

uUnheardx

nNoOp^u

yRelux