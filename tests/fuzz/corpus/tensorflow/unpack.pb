
2
xPlaceholder*
dtype0*
shape
:
%
uUnpackx*	
num*

axis

ySubu:1u