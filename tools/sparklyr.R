# Train in the tasks of a Spark that the real sparklyr starts, and compare with processes of this machine:
#   TFDISTRIBUTE_TEST_PYTHON=engines SPARK_HOME=/opt/spark tools/env Rscript tools/sparklyr.R
# sparklyr is not in Debian, so tests use a stand-in (test-cluster-spark.R). This script needs sparklyr, the Spark in
# SPARK_HOME, Java, and pandas to predict. `pip install pyspark==3.5.*` contains a Spark for SPARK_HOME, in its folder
# pyspark.
suppressPackageStartupMessages(library(sparklyr))
library(tfdistribute)
cat("sparklyr", format(packageVersion("sparklyr")), "\n")

# Spark writes into the working directory.
folder <- tempfile("sparklyr-")
dir.create(folder)
setwd(folder)
settings <- spark_config()
settings$spark.ui.enabled <- "false"
settings$spark.executor.memory <- "512m"
settings$`sparklyr.shell.driver-memory` <- "1g"
sc <- spark_connect(
  "local-cluster[2,1,1024]",
  config = settings,
  spark_home = Sys.getenv("SPARK_HOME")
)
cat("Spark", format(spark_version(sc)), "\n")
local <- transform(mtcars, maker = sub(" .*", "", rownames(mtcars)))
cars <- dplyr::mutate(copy_to(sc, local, "cars"), hp = hp / 100)
local$hp <- local$hp / 100

trained <- function(cluster, name, data) {
  model <- linear_regressor(
    feature_columns(mpg ~ wt + hp + maker, data, standardize = TRUE),
    model_dir = file.path(folder, name),
    config = run_config(cluster = cluster, seed = 1)
  )
  # One batch of all rows, because tasks divide files and rows in memory in different ways.
  train(model, mpg ~ wt + hp + maker, data = data, batch_size = 32, epochs = 20)
  model
}

on_spark <- spark_cluster(sc, workers = 2, evaluator = FALSE)
print(on_spark)
print(check_cluster(on_spark))
seconds <- system.time(spark <- trained(on_spark, "spark", cars))[["elapsed"]]
here <- trained(local_cluster(2, evaluator = FALSE), "here", local)
same <- all.equal(variable_value(spark), variable_value(here), tolerance = 1e-5)
cat(sprintf("%.0f s, same weights: %s\n", seconds, toString(same)))
predicted <- dplyr::collect(predict(spark, cars))
print(predicted)
expected <- predict(here, local)$predictions[order(local$mpg, local$wt)]
found <- predicted$predictions[order(predicted$mpg, predicted$wt)]
stopifnot(
  same,
  all.equal(evaluate(spark, cars)$loss, evaluate(here, local)$loss, tolerance = 1e-5),
  all.equal(found, expected, tolerance = 1e-5),
  length(list.files(file.path(folder, "spark"), "^spark-rows")) == 0,
  sdf_nrow(dplyr::tbl(sc, "cars")) == nrow(mtcars)
)
spark_disconnect(sc)
setwd("/")
unlink(folder, recursive = TRUE)
