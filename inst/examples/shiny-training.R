# Train in the background of a Shiny app, and show the progress. shiny::runApp() runs this file, whose path is that of
# system.file("examples", "shiny-training.R", package = "tfdistribute"). The session of the app never waits: the
# training has processes of its own, and job_state() and job_history() return at once.
library(shiny)
library(tfdistribute)

diamonds <- transform(ggplot2::diamonds, price = price / 1000)

describe_model <- function(learning_rate) {
  dnn_regressor(
    hidden_units = c(64, 32),
    feature_columns = feature_columns(price ~ carat + depth + table, diamonds, standardize = TRUE),
    optimizer = list("adam", learning_rate = learning_rate),
    model_dir = tempfile("diamonds-")
  )
}

ui <- fluidPage(
  # Otherwise the plot pales whenever it is drawn anew.
  tags$style(".recalculating { opacity: 1 !important; }"),
  titlePanel("Prices of diamonds"),
  sidebarLayout(
    sidebarPanel(
      selectInput("learning_rate", "Learning rate", c(0.001, 0.01, 0.1), selected = 0.01),
      numericInput("steps", "Steps", value = 5000, min = 100),
      actionButton("start", "Train", class = "btn-primary"),
      actionButton("stop", "Stop"),
      checkboxInput("smooth", "Smooth the loss", value = TRUE)
    ),
    mainPanel(
      h4(textOutput("state", inline = TRUE)),
      tableOutput("tasks"),
      plotOutput("losses", height = 320)
    )
  )
)

server <- function(input, output, session) {
  job <- reactiveVal()

  observeEvent(input$start, {
    model <- describe_model(as.numeric(input$learning_rate))
    job(train(
      model,
      price ~ carat + depth + table,
      data = diamonds,
      batch_size = 256,
      epochs = NULL,
      max_steps = input$steps,
      view = FALSE,
      wait = FALSE
    ))
  })
  observeEvent(input$stop, job_stop(req(job())))
  # A job ends with the R session, and here also with the browser's.
  session$onSessionEnded(function() {
    running <- isolate(job())
    if (!is.null(running)) job_stop(running)
  })

  tasks <- reactive({
    tasks <- job_state(req(job()))
    is_over <- all(tasks$state %in% c("done", "failed", "stopped"))
    if (!is_over) {
      invalidateLater(500)
    }
    tasks
  })
  output$state <- renderText({
    if (is.null(job())) {
      return("Not trained yet")
    }
    steps <- c(max(0, tasks()$step, na.rm = TRUE), isolate(input$steps))
    steps <- format(steps, big.mark = ",", trim = TRUE, scientific = FALSE)
    paste0(tasks()$state[[1]], ", step ", steps[[1]], " of ", steps[[2]])
  })
  output$tasks <- renderTable(
    {
      count <- function(values) {
        ifelse(is.finite(values), format(round(values), big.mark = ",", trim = TRUE), "")
      }
      data.frame(
        task = tasks()$task,
        state = tasks()$state,
        step = count(tasks()$step),
        `examples/s` = count(tasks()$examples_per_second),
        check.names = FALSE
      )
    },
    align = "llrr"
  )
  output$losses <- renderPlot({
    tasks()
    history <- job_history(req(job()))
    req(nrow(history$losses) > 0)
    plot(history, smooth = input$smooth)
  })
}

shinyApp(ui, server)
