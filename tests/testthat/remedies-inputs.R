# Errors of inputs, each with the code of its remedy. They start no Python.

tries(
  input_fn(y ~ x, data.frame(y = 1:2, x = as.difftime(1:2, units = "mins"))),
  {
    x <- as.difftime(1:2, units = "mins")
    input_fn(y ~ x, data.frame(y = 1:2, x = as.numeric(x, units = "secs")))
  }
)
tries(
  input_fn(y ~ x, list(y = 1:2, x = as.POSIXlt(c("2020-01-01", "2020-01-02")))),
  {
    x <- as.POSIXlt(c("2020-01-01", "2020-01-02"))
    input_fn(y ~ x, list(y = 1:2, x = as.POSIXct(x)))
  }
)
tries(
  input_fn(y ~ x, list(y = 1:2, x = complex(2))),
  {
    x <- complex(2)
    input_fn(y ~ re + im, list(y = 1:2, re = Re(x), im = Im(x)))
  }
)
tries(
  input_fn(y ~ x, list(y = 1:2, x = raw(2))),
  {
    x <- raw(2)
    input_fn(y ~ x, list(y = 1:2, x = as.integer(x)))
  }
)
tries(
  input_fn(y ~ x, list(y = 1:2, x = data.frame(a = 1:2))),
  {
    x <- data.frame(a = 1:2)
    input_fn(y ~ x, list(y = 1:2, x = as.matrix(x)))
  }
)
tries(
  input_fn(Matrix::Matrix(1:4, 2, sparse = TRUE)),
  {
    x <- Matrix::Matrix(1:4, 2, sparse = TRUE)
    y <- 1:2
    input_fn(y ~ x, list(x = x, y = y))
  }
)
tries(
  input_fn(y ~ x, list(y = 1:2, x = Matrix::Matrix(c(NA, 1), sparse = TRUE))),
  {
    x <- Matrix::Matrix(c(NA, 1), sparse = TRUE)
    x@x[is.na(x@x)] <- 0
    input_fn(y ~ x, list(y = 1:2, x = x))
  }
)
tries(
  input_fn(y ~ ., list(y = 1:2, x = Matrix::Matrix(0:1, sparse = TRUE), x_values = 1:2)),
  input_fn(y ~ ., list(y = 1:2, x = Matrix::Matrix(0:1, sparse = TRUE), z = 1:2))
)
tries(
  input_fn(mtcars, mpg ~ wt),
  {
    data <- mtcars
    input_fn(mpg ~ wt, data)
  }
)
tries(
  input_fn(matrix(1:4, 2)),
  {
    x <- matrix(1:4, 2)
    y <- 1:2
    input_fn(x, features = everything())
    numpy_input_fn(list(x = x), y)
  }
)
tries(input_fn(mtcars), input_fn(mtcars, features = c(mpg, cyl)))
tries(
  input_fn(data.frame(x = 1:2, y1 = 1:2, y2 = 1:2), features = x, response = c(y1, y2)),
  {
    data <- data.frame(x = 1:2, y1 = 1:2, y2 = 1:2)
    input_fn(cbind(y1, y2) ~ ., data)
  }
)
tries(
  input_fn(mtcars, features = wt, response = 1),
  input_fn(mtcars, features = wt, response = mpg)
)
tries(
  {
    w <- c(1.5, 2)
    input_fn(cbind(a = 1:2, b = 3:4), features = a, response = b, weights = w)
  },
  {
    data <- cbind(a = 1:2, b = 3:4)
    data <- cbind(data, w = w)
    input_fn(data, features = a, response = b, weights = w)
  }
)
tries(
  {
    w <- c(1.5, 2)
    input_fn(data.frame(a = 1:2, b = 3:4), features = a, response = b, weights = w)
  },
  {
    data <- data.frame(a = 1:2, b = 3:4)
    data$w <- w
    input_fn(data, features = a, response = b, weights = w)
  }
)
tries(
  input_fn(mtcars, features = everything(), response = mpg),
  input_fn(mtcars, features = -mpg, response = mpg)
)
tries(
  input_fn(mpg ~ rank(wt), mtcars),
  {
    data <- mtcars
    data$new <- rank(data$wt)
    input_fn(mpg ~ new, data)
  }
)
tries(input_fn(mpg ~ wt - 1, mtcars), input_fn(mpg ~ wt, mtcars))
tries(input_fn(mpg ~ wt + 0, mtcars), input_fn(mpg ~ wt, mtcars))
tries(input_fn(mpg ~ log(3), mtcars), input_fn(mpg ~ log(wt), mtcars))
tries(
  input_fn(y ~ x + offset(z), data.frame(x = 1:2, y = 1:2, z = 1:2)),
  {
    input_fn(I(y - z) ~ x, data.frame(x = 1:2, y = 1:2, z = 1:2))
    input_fn(I(y / e) ~ x, data.frame(x = 1:2, y = 1:2, e = 1:2), weights = e)
  }
)
tries(
  input_fn(y ~ "a b" * x, data.frame(y = 1:3, "a b" = 1:3, x = 1:3, check.names = FALSE)),
  {
    data <- data.frame(y = 1:3, "a b" = 1:3, x = 1:3, check.names = FALSE)
    lm(y ~ `a b` * x, data)
    input_fn(y ~ `a b` * x, data)
  }
)
tries(
  input_fn(y ~ poly(x, 2), data.frame(y = 1:4, x = c(1:3, NA))),
  input_fn(y ~ poly(x, 2), subset(data.frame(y = 1:4, x = c(1:3, NA)), !is.na(x)))
)
tries(
  input_fn(y ~ a:b, data.frame(y = 1, a = factor(1:40), b = factor(1:40))),
  linear_regressor(column_crossed(c("a", "b"), hash_bucket_size = 1000))
)
tries(
  input_fn(y ~ x, data.frame(y = c(1, NA), x = 1:2)),
  {
    data <- data.frame(y = c(1, NA), x = 1:2)
    input_fn(y ~ x, subset(data, !is.na(y)))
  }
)
tries(
  input_fn(Temp ~ Ozone, airquality),
  {
    input_fn(Temp ~ Ozone, airquality, impute = "median")
    input_fn(Temp ~ Ozone, airquality, impute = list(Ozone = 0))
  }
)
tries(
  input_fn(y ~ x, data.frame(y = 1:2, x = c("a", NA)), impute = "mean"),
  input_fn(y ~ x, data.frame(y = 1:2, x = c("a", NA)), impute = list(x = "unknown"))
)
tries(
  input_fn(y ~ f, data.frame(y = 1:3, f = factor(c("a", NA, "b")))),
  {
    data <- data.frame(y = 1:3, f = factor(c("a", NA, "b")))
    input_fn(y ~ f, data, impute = list(f = "a"))
    data$f <- with(data, addNA(f))
    feature_columns(y ~ f, data)
    input_fn(y ~ f, data)
  }
)
tries(
  feature_columns(y ~ x, data.frame(y = 1:3, x = c(1, 2, Inf)), standardize = TRUE),
  {
    data <- data.frame(y = 1:3, x = c(1, 2, Inf))
    feature_columns(y ~ x, subset(data, !is.infinite(x)), standardize = TRUE)
  }
)
tries(
  input_fn(mpg ~ wt),
  input_fn(mpg ~ wt, data = mtcars)
)
tries(input_fn(mpg ~ wt, mtcars, features = wt), input_fn(mpg ~ wt, mtcars))
tries(input_fn(as.name("a")), input_fn(mpg ~ wt, mtcars))
tries(
  input_fn(mpg ~ wt, mtcars$wt),
  {
    data <- data.frame(x = 1:2, y = 3:4)
    input_fn(data[, "x", drop = FALSE], features = x)
  }
)
tries(
  input_fn(mpg ~ wt, "taxi.csv"),
  input_csv("taxi.csv", response = "mpg", features = "wt")
)
tries(
  input_fn(mpg ~ wt, na.action = na.omit, mtcars),
  input_fn(mpg ~ wt, mtcars, impute = "median")
)
tries(
  {
    data <- data.frame(y = 1:2, word = c("a", "\xe4"))
    input_fn(y ~ word, data)
  },
  {
    data$word <- iconv(data$word, "latin1", "UTF-8")
    input_fn(y ~ word, data)
  }
)
tries(
  {
    data <- data.frame(y = 1:2, word = factor(c("a", "\xe4")))
    input_fn(y ~ word, data)
  },
  {
    levels(data$word) <- iconv(levels(data$word), "latin1", "UTF-8")
    input_fn(y ~ word, data)
  }
)
tries(
  {
    data <- stats::setNames(list(1:2, 1:2), c("y", "\xe4"))
    input_fn(data, features = everything())
  },
  {
    names(data) <- iconv(names(data), "latin1", "UTF-8")
    input_fn(data, features = everything())
  }
)
tries(numpy_input_fn(mean, 1:2), {
  x <- 1:2
  numpy_input_fn(list(x = x), 1:2)
})
tries(
  {
    hosts <- tempfile()
    writeLines("a b c", hosts)
    ssh_cluster(hostfile = hosts)
  },
  {
    writeLines(c("node-a", "node-a slots=2"), hosts)
    ssh_cluster(hostfile = hosts)
  }
)
tries(
  input_fn(y ~ x, list(y = 1:2, x = list(1:2, 1))),
  input_fn(y ~ x, list(y = 1:2, x = list(1:2, c(1, 0))))
)
tries(
  input_fn(y ~ x, list(y = 1:2, x = list("a", mean))),
  input_fn(y ~ x, list(y = 1:2, x = factor(c("a", "mean"))))
)
tries(
  input_fn(y ~ x, list(y = 1:2, x = c(1, 1e300))),
  {
    input_fn(y ~ x, list(y = 1:2, x = c(1, 1e300) / 1e300))
    input_fn(y ~ x, list(y = 1, x = 1))
  }
)
tries(input_fn(y ~ x, list(y = 1:2, x = 1:3)), input_fn(y ~ x, list(y = 1:2, x = 1:2)))
tries(input_fn(mpg ~ wt, mtcars[0, ]), input_fn(mpg ~ wt, mtcars[1, ]))
tries(
  input_fn(mtcars, features = wt, weights = c(hp, am)),
  input_fn(mtcars, features = wt, weights = hp)
)
tries(
  input_fn(mtcars, features = no_helper("w")),
  {
    input_fn(mtcars, features = starts_with("w"))
    input_fn(mtcars, features = c("wt", "hp"))
  }
)
tries(input_fn(mtcars, features = "weight"), input_fn(mtcars, features = "wt"))
tries(
  input_fn(stats::setNames(mtcars[1:2], c("a", "a")), features = everything()),
  input_fn(stats::setNames(mtcars[1:2], c("a", "b")), features = everything())
)
tries(input_dataset(function(batch) NULL), input_dataset(function(input_context) NULL))
tries(
  input_fn(mtcars, features = NULL, response = mpg),
  input_fn(mtcars, features = wt, response = mpg)
)
tries(
  {
    input <- input_fn(mpg ~ wt, mtcars)
    input$epochs <- 3
  },
  input_fn(mpg ~ wt, mtcars, epochs = 3)
)
tries(input_fn(mpg ~ wt + 0, mtcars), input_fn(mpg ~ wt, mtcars))
tries(input_generator(function(n) NULL), input_generator(function() NULL))
tries(
  input_fn(mpg ~ wt, mtcars, impute = list(hp = 0)),
  input_fn(mpg ~ wt, mtcars, impute = list(wt = 0))
)
tries(
  input_csv("a.csv", response = "y", impute = list(y = 0)),
  input_csv("a.csv", response = "y", impute = list(x = 0))
)
tries(input_fn(mpg ~ wt), input_fn(mpg ~ wt, mtcars))
tries(
  input_fn(mtcars, features = c(wt, hp), weights = hp),
  input_fn(transform(mtcars, w = hp), features = c(wt, hp), weights = w)
)
tries(
  flags(flag_numeric("rate", 1), arguments = "--rates=2"),
  flags(flag_numeric("rate", 1), arguments = "--rate=2")
)
tries(train_spec(y ~ x), train_spec(input_fn(y ~ x, data)), data = data.frame(x = 1:2, y = 3:4))
