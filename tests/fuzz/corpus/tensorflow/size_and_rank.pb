
2
xPlaceholder*
dtype0*
shape
:

sSizex

rRankx

mMulsr

cCastm*

DstT0

yAddxc