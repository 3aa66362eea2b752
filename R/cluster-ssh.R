#' Describe a cluster of hosts reached by ssh
#'
#' Describes processes on several hosts that train together: a chief, `workers - 1` workers, and optional parameter
#' servers and an evaluator. It is a plain R value and starts nothing. For an estimator with this cluster in its
#' [run_config()], [train()], [train_and_evaluate()] and [launch()] connect to the hosts, check them, start the
#' processes, supervise them from this machine and end them. A [job][jobs] on hosts has the same handle, logs and
#' history as a job of a [local_cluster()].
#'
#' @section Requirements:
#' * You can log in to each host with `ssh` without a prompt, so its host key must be known. `~/.ssh/config`, jump hosts
#'   and `ssh-agent` work as usual. tfdistribute installs nothing on the hosts and leaves nothing there.
#' * The hosts run Linux with R, Python (3.10 or later), and the same versions of this package and of TensorFlow as this
#'   machine.
#' * `model_dir` is one directory that this machine and all hosts share under the same path, or remote storage. Files
#'   that the input reads are on all hosts under the same path. Data in memory is sent.
#' * The hosts can reach each other's TensorFlow ports. [plan_training()] prints firewall rules.
#'
#' Before any process starts, all hosts are checked at the same time, and all problems are reported in one error.
#' [check_cluster()] runs the same checks without training.
#'
#' @section Safety:
#' `ssh` uses strict host keys, and does not use passwords or forward agents or ports. The description of the model, the
#' data and the variables in `environment` travel over its encrypted connection, never in a command line. On the hosts,
#' they are stored in a directory that only you can read, which is removed with the job. All processes on a host end
#' when its connection ends, or after `lease_s`. The tasks do not inherit this session's environment. They get the
#' environment of a login on their host and `environment`. TensorFlow's own ports between the hosts are unauthenticated
#' and unencrypted, so use hosts behind a firewall.
#'
#' @section Lost hosts:
#' A host that cannot be reached for `lease_s` seconds ends its own processes. The training processes restart from the
#' newest checkpoint as in a [local_cluster()], and the host is connected again. If it remains unreachable, the job
#' fails and names the host.
#'
#' With `workers = c(2, 4)`, the training starts with four workers, and needs only two to continue. A host that remains
#' unreachable for another `lease_s` is left out. The workers on the other hosts continue from the newest checkpoint
#' with the same global batch. If the lost host had the chief, the chief moves to another host. When a lost host is
#' reachable again, the chief saves a checkpoint, and the training restarts with the host. This happens at most every
#' `resize_every_s` seconds, and only if the additional workers save more time than the restart takes. If fewer workers
#' are left than the smaller number, the job fails and names the lost hosts. `history$workers` records which hosts
#' trained which steps. Every number of workers in the range must
#' divide the batch, otherwise the training is rejected before it starts. Each restart after a failure counts towards
#' `restarts`.
#'
#' If a host is shut down in order, it sends SIGTERM to its processes first. The chief then saves a checkpoint, and the
#' training continues on the other hosts, which does not count towards `restarts`. With a fixed number of workers, it
#' waits for the end of the host instead, and restarts when the host is reachable again. A host that is still reachable
#' 30 seconds later is used again.
#'
#' Rows in memory are read exactly once per epoch, so the weights equal the weights of an undisturbed training. Each
#' worker reads its own part of files and of datasets from your functions. After the number of workers has changed, some
#' of their rows are read twice in this epoch and others not, and a note of the job reports this.
#'
#' @eval help_of("ssh_cluster")
#' @param hostfile Path of a file with a host in each line, optionally with `slots=2` for two processes. Use it instead
#'   of `hosts`.
#' @returns A description of class `tfdistribute_ssh_cluster`, `tfdistribute_cluster`.
#' @section Errors:
#' * `tfdistribute_cluster_error`, from a verb, if a name is not a valid host name, or hosts cannot be used.
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' @references <https://man.openbsd.org/ssh_config>
#' @family clusters
#' @examples
#' ssh_cluster(c("node-a", "node-b"))
#' ssh_cluster(c("node-a", "node-b"), ps = 1, environment = c(OMP_NUM_THREADS = "4"))
#' @export
ssh_cluster <- function(
  # Fields of cluster$ssh
  hosts = NULL,
  hostfile = NULL,
  workers = length(hosts),
  ps = 0,
  evaluator = TRUE,
  devices_per_worker = 1,
  host_addresses = NULL,
  ssh = "ssh",
  rscript = "Rscript",
  python = NULL,
  libraries = NULL,
  environment = NULL,
  lease_s = 30,
  resize_every_s = 60,
  start_timeout_s = 120,
  stall_timeout_s = 300,
  restarts = 3,
  ...
) {
  check_call(...)
  hosts <- given_hosts(hosts, hostfile)
  describe("cluster", "ssh", as.list(environment()))
}

is_on_hosts <- function(cluster) {
  # A field of clusters whose tasks this package starts on other hosts.
  "lease_s" %in% names(cluster)
}

given_hosts <- function(hosts, hostfile) {
  example <- "ssh_cluster(c(\"node-a\", \"node-b\"))"
  check_one_given(list(hosts = hosts, hostfile = hostfile), example = example)
  if (is.null(hosts)) {
    hosts <- read_hostfile(check_path(hostfile))
    check_field(hosts, schema$cluster$ssh$hosts, "hostfile")
  }
  hosts
}

# Lines such as "node-a slots=2", as MPI and DeepSpeed write them. The host is repeated for each slot.
read_hostfile <- function(path) {
  if (!file.exists(path)) {
    abort_argument(path, "the path of a file that exists", "hostfile")
  }
  lines <- trimws(sub("#.*", "", readLines(path, warn = FALSE)))
  lines <- lines[nzchar(lines)]
  is_line <- grepl("^\\S+(\\s+slots\\s*=\\s*[1-9][0-9]{0,3})?$", lines)
  remedy <- "Write lines such as \"node-a\" or \"node-a slots=2\"."
  check_texts(lines, is_line, "does not name a host", remedy, "hostfile", "argument")
  if (length(lines) == 0) {
    abort_argument(path, "a file with names of hosts", "hostfile", remedy = remedy)
  }
  slots <- ifelse(grepl("slots", lines), sub(".*=\\s*", "", lines), "1")
  rep(sub("\\s.*", "", lines), as.integer(slots))
}

#' @export
format.tfdistribute_ssh_cluster <- function(x, ...) {
  hosts <- unique(x$hosts)
  format_started(
    x,
    paste("process{?es} on", several(length(hosts), "host")),
    hosts = toString(first_of(hosts, 8)),
    devices = show_devices(x),
    watched = show_watched(x, "hosts")
  )
}
