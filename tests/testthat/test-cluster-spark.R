connect <- "sc://head:15002/;token=secret"

test_that("a printed cluster of Spark shows what each task has, and no secret", {
  expect_snapshot({
    spark_cluster(connect, workers = 2)
    spark_cluster(
      "py4j://:secret@127.0.0.1:4242/opt/spark",
      workers = 1,
      ps = 1,
      gpus_per_worker = 2
    )
  })
})

test_that("a cluster of Spark is a plain value that can be changed", {
  described <- spark_cluster(connect, workers = 2)
  described$gpus_per_worker <- 4
  expect_identical(described$devices_per_worker, 4L)
  expect_identical(described$sc, connect)
})

test_that("an error in a cluster of Spark names the argument", {
  expect_snapshot(error = TRUE, {
    spark_cluster(connect, workers = 0)
    spark_cluster("head", workers = 2)
    spark_cluster(structure(list(), class = c("spark_connection", "livy_connection")), workers = 2)
  })
})

# As sparklyr 1.8.4: the JVM answers with objects, and `state` is an environment.
sparklyr_connection <- function() {
  structure(
    list(
      master = "local-cluster[2,1,1024]",
      method = "shell",
      app_name = "sparklyr",
      config = list(),
      state = new.env(),
      spark_home = tempdir()
    ),
    class = c("spark_connection", "spark_shell_connection", "DBIConnection")
  )
}

test_that("a connection of sparklyr gets a gateway for Python, once", {
  local_no_python()
  local_stand_in(
    "sparklyr",
    c(
      "spark_context <- function(sc) { sc$state$asked <- c(sc$state$asked, 'context'); list(sc, 'context') }",
      "invoke_new <- function(sc, class, ...) { sc$state$asked <- c(sc$state$asked, class); list(sc, ...) }",
      "invoke <- function(jobj, method, ...) {",
      "  state <- jobj[[1]]$state",
      "  state$asked <- c(state$asked, method)",
      "  switch(method, getConf = 'conf', secret = 'abc', getListeningPort = 4242L)",
      "}"
    )
  )
  sc <- sparklyr_connection()
  described <- spark_cluster(sc, workers = 2)
  expect_identical(
    described$sc,
    paste0("py4j://:abc@127.0.0.1:4242", utils::URLencode(normalizePath(tempdir())))
  )
  server <- "org.apache.spark.api.python.Py4JServer"
  asked <- c("context", "getConf", server, "start", "secret", "getListeningPort")
  expect_identical(sc$state$asked, asked)
  expect_identical(spark_cluster(sc, workers = 3)$sc, described$sc)
  expect_identical(sc$state$asked, asked)
})

test_that("a session of Python is asked for its address", {
  session <- structure(list(), class = "python.builtin.object")
  asked <- local_bridge(list(value = connect))
  expect_identical(spark_cluster(session, workers = 2)$sc, connect)
  expect_identical(asked$name, "spark_address")
  # As that of pysparklyr.
  classes <- c("connect_spark", "pyspark_connection", "spark_connection", "DBIConnection")
  sc <- structure(
    list(master = "head", method = "spark_connect", session = session),
    class = classes
  )
  expect_identical(spark_cluster(sc, workers = 2)$sc, connect)
})

test_that("a Spark that cannot be used is a row of the check", {
  skip_if_no_tensorflow()
  found <- check_cluster(spark_cluster("sc://localhost:9", workers = 2))
  expect_match(found$message, "cannot use Spark|Connection refused")
  expect_identical(found$field, "sc")
})
