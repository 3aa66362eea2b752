library(testthat)
library(tfdistribute)

test_check("tfdistribute")
