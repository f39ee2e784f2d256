/** Exit codes for scripts. Their meaning never changes; docs/exit-codes.md documents them. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  meshNotRunning: 3,
  /** A permission or a budget denied the request: a retry does not help, the owner must change something. */
  refused: 4,
  /** The work goes on without the command: it waits for a person, or took longer than `--timeout`. */
  unfinished: 5,
} as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The exit codes on one line, for help. */
export const exitCodeWords =
  '0 ok, 1 failed, 2 wrong usage, 3 no mesh runs, 4 denied or over budget, 5 waits for you'
