# An answer of the backend, as Python gives it.
answer <- function(...) {
  defaults <- list(
    ok = TRUE,
    rows = 40,
    rows_missing = 0,
    rows_repeated = 0,
    rows_unknown = 0,
    steps_agree = TRUE,
    workers = list(
      worker = array(c(0, 1)),
      rows = array(c(20, 20)),
      steps = array(c(3, 3)),
      smallest_batch = array(c(2, 2)),
      largest_batch = array(c(8, 8)),
      seed = array(c(1, 1))
    )
  )
  utils::modifyList(defaults, list(...))
}

test_that("an audit is a plain value that prints what was found", {
  audit <- new_sharding_audit(answer())
  expect_s3_class(audit, "sharding_audit")
  expect_s3_class(audit$workers, "tbl_df")
  expect_identical(audit$workers$rows, c(20L, 20L))
  expect_identical(unserialize(serialize(audit, NULL)), audit)
  expect_snapshot({
    audit
    new_sharding_audit(answer(
      ok = FALSE,
      rows_missing = 9,
      rows_repeated = 1234,
      rows_unknown = 1,
      steps_agree = FALSE,
      workers = list(smallest_batch = array(c(2, NaN)), seed = array(c(NaN, NaN)))
    ))
  })
})

test_that("what is no number of workers, replicas or epochs is refused", {
  input <- input_fn(mpg ~ wt, mtcars)
  expect_snapshot(error = TRUE, {
    check_sharding(mtcars)
    check_sharding(input, "two")
    check_sharding(input, 0)
    check_sharding(input, 2, replicas = 0)
    check_sharding(input, 2, epochs = NULL)
  })
})

test_that("the workers of a cluster are counted with its chief", {
  as_cluster <- function(...) structure(list(...), class = "tfdistribute_cluster")
  expect_identical(count_workers(as_cluster(kind = "local", workers = 3L, ps = 1L)), 3L)
  addresses <- as_cluster(kind = "addresses", chief = "a:1", worker = c("b:1", "c:1"), ps = "d:1")
  expect_identical(count_workers(addresses), 3L)
})

test_that("data in R is read once by any number of workers", {
  skip_if_no_tensorflow()
  input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 6, epochs = NULL, seed = 3)
  audit <- check_sharding(input, 3, epochs = 2)
  expect_true(audit$ok)
  expect_identical(audit$rows, 64)
  expect_identical(sum(audit$workers$rows), 64L)
  expect_identical(unique(audit$workers$seed), 3L)
  out_of_step <- check_sharding(input_fn(mpg ~ wt, mtcars[1, ]), 2, replicas = NULL)
  expect_true(out_of_step$ok)
  expect_identical(out_of_step$workers$largest_batch, c(1L, NA))
})

test_that("functions that divide wrongly are found, those that divide rightly are not", {
  skip_if_no_tensorflow()
  range <- function() tf()$data$Dataset$range(40L)
  tf <- function() call_backend("tensorflow")
  shard <- function(dataset, context) {
    dataset$shard(context$num_input_pipelines, context$input_pipeline_id)
  }
  undivided <- check_sharding(function() range()$batch(8L), 2)
  expect_false(undivided$ok)
  expect_identical(undivided$rows_repeated, 40)
  shuffled <- check_sharding(
    function(input_context) shard(range()$shuffle(40L), input_context)$batch(4L),
    2
  )
  expect_false(shuffled$ok)
  expect_gt(shuffled$rows_missing, 0)
  expect_identical(shuffled$rows_missing, shuffled$rows_repeated)
  right <- check_sharding(
    function(input_context) shard(range(), input_context)$shuffle(40L)$batch(4L),
    2
  )
  expect_true(right$ok)
})

test_that("batches from an R function are checked like any other", {
  skip_if_no_tensorflow()
  numbers <- function(draw) {
    function() {
      count <- 0
      function() {
        count <<- count + 1
        if (count < 4) data.frame(x = draw(), y = 0)
      }
    }
  }
  expect_true(check_sharding(input_generator(numbers(function() 1:4 + 0), response = "y"), 2)$ok)
  drawn <- check_sharding(input_generator(numbers(function() runif(4)), response = "y"), 2)
  expect_false(drawn$ok)
  expect_gt(drawn$rows_unknown, 0)
})
