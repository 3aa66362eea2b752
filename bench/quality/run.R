# How good are models without any choice by the user? run.R [TABLES [WAYS [SEEDS]]], each separated by commas.
# Prints a line per fit, then a table of mean scores. Needs the packages that setup.sh gets.

source("bench/quality/tables.R")
source("bench/quality/ways.R")

arguments <- commandArgs(TRUE)
chosen <- function(position, all) {
  if (length(arguments) < position) all else strsplit(arguments[[position]], ",")[[1]]
}
options(tfdistribute.progress = FALSE)
fits <- expand.grid(
  seed = as.integer(chosen(3, 1:3)),
  way = chosen(2, names(ways)),
  table = chosen(1, names(tables)),
  stringsAsFactors = FALSE
)
# The seed changes nothing in these.
fits <- fits[
  !(fits$way %in% c("linear", "lightgbm", "xgboost", "sklearn_gbm") & fits$seed != fits$seed[[1]]),
]
fits$score <- NA_real_
fits$seconds <- NA_real_
fits$wall <- NA_real_
for (row in seq_len(nrow(fits))) {
  table <- read_table(fits$table[[row]])
  began <- proc.time()
  predicted <- ways[[fits$way[[row]]]](table, fits$seed[[row]])
  spent <- proc.time() - began
  fits$score[[row]] <- score(predicted, table$test[[1]])
  # Of the processor, with the processes that a way starts.
  fits$seconds[[row]] <- sum(
    spent[c("user.self", "sys.self", "user.child", "sys.child")],
    na.rm = TRUE
  )
  fits$wall[[row]] <- spent[["elapsed"]]
  cat(sprintf(
    "%-9s %-12s seed %d  %.4f  %.1f s, %.1f s of the processor\n",
    fits$table[[row]],
    fits$way[[row]],
    fits$seed[[row]],
    fits$score[[row]],
    fits$wall[[row]],
    fits$seconds[[row]]
  ))
}
means <- tapply(fits$score, fits[c("way", "table")], mean)
cat("\nMean score (root mean squared error, or log loss; less is better)\n")
print(signif(means, 4))
cat("\nMean rank\n")
print(sort(rowMeans(matrix(apply(means, 2, rank), nrow(means), dimnames = dimnames(means)))))
cat("\nSeconds\n")
print(round(tapply(fits$wall, fits[c("way", "table")], mean), 1))
cat("\nSeconds of the processor\n")
print(round(tapply(fits$seconds, fits[c("way", "table")], mean), 1))
