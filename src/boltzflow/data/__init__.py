"""Data sets: greyscale pictures in [0, 1], one a row, cut into training and test."""

from boltzflow.data.digits import digits as digits
from boltzflow.data.idx import fashion_mnist as fashion_mnist
from boltzflow.data.idx import mnist as mnist
from boltzflow.data.pictures import PictureSet as PictureSet
