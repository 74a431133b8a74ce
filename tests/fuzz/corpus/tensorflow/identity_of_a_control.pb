
.
xPlaceholder*
dtype0*
shape:
	
cNoOp

yIdentityx^c