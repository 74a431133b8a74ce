
:
xPlaceholder*
dtype0*
shape:
'
kConst*
valueB8888
'
sConst*
valueB8888
+
y	MaxPoolV2xks*
paddingVALID