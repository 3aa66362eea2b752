#' Describe a cluster of hosts that are reached by ssh
#'
#' Describes processes on several hosts that train together: a chief, `workers - 1` workers, and optional parameter
#' servers and an evaluator. It is a plain R value and starts nothing. [train()], [train_and_evaluate()] and [launch()]
#' connect to the hosts for an estimator with this cluster in its [run_config()], check them, start the processes,
#' supervise them from this machine and end them. A [job][jobs] on hosts has the same handle, logs and history as one of
#' a [local_cluster()].
#'
#' @section What the hosts need:
#' * `ssh` to each host works without a question: its key is known and accepts you (`~/.ssh/config`, jump hosts and
#'   `ssh-agent` work as always). Nothing else is installed or left there.
#' * Linux with R, Python (3.10 or later), and the same version of this package and of TensorFlow as here.
#' * `model_dir` is one directory that this machine and all hosts share under the same path, or remote storage. Files
#'   that the input reads are on all hosts under the same path; data in memory is sent.
#' * Their TensorFlow ports reach each other. `plan()` shows firewall rules.
#'
#' Before any process starts, all hosts are checked at the same time, and everything that is wrong is one error.
#' [cluster_check()] does the same without training.
#'
#' @section Safety:
#' `ssh` runs with strict host keys and without passwords, forwarding of agents, or ports. The description of the model,
#' the data and the variables in `environment` travel over its encrypted connection, never in a command line, and are
#' stored on the hosts in a directory that only you can read, which is removed with the job. All processes on a host end
#' when its connection does, or after `lease_s`. The tasks do not get this session's environment, but that of a login
#' on their host and `environment`. TensorFlow's own ports between the hosts are unauthenticated and unencrypted: use
#' hosts behind a firewall.
#'
#' @section Lost hosts:
#' A host that cannot be reached for `lease_s` seconds ends its processes itself. The training processes restart from
#' the newest checkpoint as in a [local_cluster()], and the host is connected again; if it stays away, the job fails and
#' names it.
#'
#' @param hosts Names of the hosts as `ssh` knows them, strings `"host"` or `"user@host"`. A host that is named twice
#'   gets twice as many processes.
#' @param hostfile Path of a file with a host in each line, optionally with `slots=2` for two processes; instead of
#'   `hosts`.
#' @param workers Processes that train, including the chief, a count of at most 1000; by default one for each of
#'   `hosts`. The chief is on the first host, and the others follow in turn.
#' @param ps Parameter servers, a count of at most 1000; on the hosts in turn.
#' @param evaluator Whether an additional process, on the first host, evaluates checkpoints, TRUE or FALSE.
#' @param devices_per_worker Devices of each training process, a count; as in [local_cluster()].
#' @param host_addresses Addresses at which the hosts reach each other, strings with the hosts as names; those of other
#'   hosts are found.
#' @param ssh The ssh program, a string; more strings are arguments for it, such as `c("ssh", "-F", "config")`.
#' @param rscript Path of `Rscript` on the hosts, a string.
#' @param python Path of Python with TensorFlow on the hosts, a string; NULL for the path that it has in this session.
#' @param libraries Paths of R package libraries on the hosts, strings; NULL for those of this session.
#' @param environment Environment variables of all processes, strings with names. `TMPDIR` is the directory for the
#'   files of the job on the hosts.
#' @param lease_s Seconds after which a host that is out of reach counts as lost, a number of at least 5.
#' @inheritParams local_cluster
#' @returns A description of class `tfdistribute_ssh_cluster`, `tfdistribute_cluster`.
#' @section Errors:
#' * `tfdistribute_cluster_error`: no host, a name that is not a host's, or, when training starts, hosts that cannot be
#'   used.
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' @references <https://man.openbsd.org/ssh_config>
#' @family clusters
#' @examples
#' ssh_cluster(c("node-a", "node-b"))
#' ssh_cluster(c("node-a", "node-b"), ps = 1, environment = c(OMP_NUM_THREADS = "4"))
#' @export
ssh_cluster <- function(
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
  start_timeout_s = 120,
  stall_timeout_s = 300,
  restarts = 3,
  ...
) {
  check_call()
  hosts <- check_hosts(hosts, hostfile)
  new_hosts_cluster(
    "ssh",
    hosts = hosts,
    workers = check_count(workers, maximum = most_processes),
    ps = check_count(ps, minimum = 0L, maximum = most_processes),
    evaluator = check_flag(evaluator),
    devices_per_worker = check_count(devices_per_worker),
    host_addresses = check_host_addresses(host_addresses, hosts),
    ssh = check_strings(ssh),
    rscript = rscript,
    python = python,
    libraries = libraries,
    environment = environment,
    lease_s = lease_s,
    start_timeout_s = start_timeout_s,
    stall_timeout_s = stall_timeout_s,
    restarts = restarts
  )
}

# A cluster whose tasks run on other hosts and are started there by this package. `...` are the checked fields of its
# kind; the others are checked here.
new_hosts_cluster <- function(
  kind,
  ...,
  rscript,
  python,
  libraries,
  environment,
  lease_s,
  start_timeout_s,
  stall_timeout_s,
  restarts
) {
  new_cluster(
    kind,
    ...,
    rscript = check_string(rscript),
    python = check_string(python, null = TRUE),
    libraries = if (length(libraries) > 0) check_strings(libraries) else character(),
    environment = check_variables(environment),
    lease_s = check_number(lease_s, minimum = 5),
    start_timeout_s = check_number(start_timeout_s, minimum = 1),
    stall_timeout_s = check_number(stall_timeout_s, minimum = 1),
    restarts = check_count(restarts, minimum = 0L)
  )
}

is_on_hosts <- function(cluster) {
  inherits(cluster, c("tfdistribute_ssh_cluster", "tfdistribute_slurm_cluster"))
}

# As in cluster/ssh.py: nothing that ssh or a shell would interpret.
host_pattern <- paste0(
  "^([A-Za-z0-9_][A-Za-z0-9._-]{0,63}@)?",
  "[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$"
)

check_hosts <- function(hosts, hostfile) {
  if (is.null(hosts) == is.null(hostfile)) {
    abort_tfdistribute(
      "argument",
      problem = if (is.null(hosts)) {
        "Neither `hosts` nor `hostfile` names hosts."
      } else {
        "`hosts` and `hostfile` both name hosts."
      },
      remedy = "Use one of them, such as ssh_cluster(c(\"node-a\", \"node-b\")).",
      argument = "hosts"
    )
  }
  argument <- if (is.null(hosts)) "hostfile" else "hosts"
  hosts <- if (is.null(hosts)) read_hostfile(check_path(hostfile)) else check_strings(hosts)
  is_host <- grepl(host_pattern, hosts, useBytes = TRUE, perl = TRUE) &
    !grepl("\n", hosts, useBytes = TRUE)
  if (!all(is_host)) {
    wrong <- hosts[!is_host][[1]]
    abort_tfdistribute(
      "cluster",
      problem = "`{argument}` holds {show_value(wrong)}, which is not the name of a host.",
      remedy = paste0(
        "Write \"host\" or \"user@host\" with letters, digits, dots and hyphens; a port belongs into ",
        "~/.ssh/config."
      ),
      argument = argument,
      value = wrong
    )
  }
  hosts
}

# Lines such as "node-a slots=2", as MPI and DeepSpeed write them; the host is repeated for each slot.
read_hostfile <- function(path) {
  if (!file.exists(path)) {
    abort_tfdistribute(
      "argument",
      problem = "`hostfile` {show_value(path)} does not exist.",
      argument = "hostfile",
      value = path
    )
  }
  lines <- trimws(sub("#.*", "", readLines(path, warn = FALSE)))
  lines <- lines[nzchar(lines)]
  is_line <- grepl("^\\S+(\\s+slots\\s*=\\s*[1-9][0-9]{0,3})?$", lines)
  if (!all(is_line) || length(lines) == 0) {
    wrong <- if (length(lines) > 0) lines[!is_line][[1]] else ""
    abort_tfdistribute(
      "argument",
      problem = if (nzchar(wrong)) {
        "`hostfile` has the line {show_value(wrong)}, which does not name a host."
      } else {
        "`hostfile` {show_value(path)} names no host."
      },
      remedy = "Write lines such as \"node-a\" or \"node-a slots=2\".",
      argument = "hostfile",
      value = wrong
    )
  }
  slots <- ifelse(grepl("slots", lines), sub(".*=\\s*", "", lines), "1")
  rep(sub("\\s.*", "", lines), as.integer(slots))
}

check_host_addresses <- function(host_addresses, hosts) {
  named <- check_named_strings(host_addresses)
  unknown <- setdiff(names(named), hosts)
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "cluster",
      problem = "`host_addresses` names {show_value(unknown[[1]])}, which is not one of `hosts`.",
      remedy = "Use the names {toString(utils::head(unique(hosts), 5))}.",
      argument = "host_addresses",
      value = unknown[[1]]
    )
  }
  texts <- as.character(unlist(named))
  has_port <- grepl(":[A-Za-z0-9]*$", texts) & !grepl("]$", texts)
  wrong <- texts[has_port | !grepl(address_pattern, texts, useBytes = TRUE, perl = TRUE)]
  if (length(wrong) > 0) {
    abort_tfdistribute(
      "cluster",
      problem = "`host_addresses` holds {show_value(wrong[[1]])}, which is not an address without a port.",
      remedy = "Write a name or an IP address, such as c(\"node-a\" = \"10.0.0.1\").",
      argument = "host_addresses",
      value = wrong[[1]]
    )
  }
  named
}

check_variables <- function(environment) {
  named <- check_named_strings(environment)
  wrong <- grep("^[A-Za-z_][A-Za-z0-9_]*$", names(named), value = TRUE, invert = TRUE)
  if (length(wrong) > 0) {
    abort_tfdistribute(
      "argument",
      problem = "`environment` names {show_value(wrong[[1]])}, which is not a variable.",
      argument = "environment",
      value = wrong[[1]]
    )
  }
  named
}

# A named list of strings, which is a dictionary in Python.
check_named_strings <- function(value, argument = rlang::caller_arg(value)) {
  if (length(value) == 0) {
    return(list())
  }
  named <- as.list(value)
  is_text <- vapply(
    named,
    function(each) rlang::is_string(each) && !is.na(each) && is.na(first_not_text(each)),
    NA
  )
  if (!all(is_text) || !rlang::is_named(named) || anyDuplicated(names(named)) > 0) {
    # The values may be secret.
    abort_tfdistribute(
      "argument",
      problem = "`{argument}` must be strings in UTF-8 with different names, or NULL.",
      argument = argument
    )
  }
  lapply(named, enc2utf8)
}

#' @export
count_tasks.tfdistribute_ssh_cluster <- function(x) {
  count_described_tasks(x)
}

#' @export
format.tfdistribute_ssh_cluster <- function(x, ...) {
  c(
    interpolate(
      "<ssh_cluster> {sum(count_tasks(x))} process{?es} on {length(unique(x$hosts))} host{?s}"
    ),
    paste0("  ", show_task_names(x)),
    paste0("  hosts      ", toString(first_of(unique(x$hosts), 8))),
    paste0("  devices    ", x$devices_per_worker, " for each process that trains"),
    interpolate(c(
      "  watched    {format(x$start_timeout_s)} s for the first step, ",
      "{format(x$stall_timeout_s)} s for any other, {x$restarts} restart{?s}, ",
      "hosts lost after {format(x$lease_s)} s"
    )),
    if (length(x$environment) > 0) {
      # Values may be secret.
      paste0("  variables  ", toString(names(x$environment)))
    }
  )
}
