# The script estimator_step.py in R: what reticulate adds, whatever it runs.
library(reticulate)
invisible(py_run_file("bench/start-up/estimator_step.py"))
