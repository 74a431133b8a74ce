
.
xPlaceholder*
dtype0*
shape:
'
pConst*
valueB88
)
y	MirrorPadxp*
mode	SYMMETRIC