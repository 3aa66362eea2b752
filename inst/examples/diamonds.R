# Prices of 53,940 diamonds: a wide-and-deep model, trained over two devices of one process, against lm().
#
#   Rscript diamonds.R [steps]
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(script), "diamonds-model.R"))

arguments <- commandArgs(trailingOnly = TRUE)
steps <- if (length(arguments) > 0) as.integer(arguments[[1]]) else 3000L

config <- run_config(strategy = strategy_mirrored(devices = 2), seed = 3)
model <- wide_and_deep(config)
print(model)

# The batch of 256 rows is divided over the devices.
input <- input_fn(price ~ ., training, batch_size = 256, epochs = NULL)
history <- train(model, input, steps = steps)
compare_with_lm(model, history, "tfdistribute-diamonds.png")
