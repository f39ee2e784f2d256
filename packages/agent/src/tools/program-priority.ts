import { writeFileSync } from 'node:fs'

/**
 * What the kernel adds to a process's share of memory, in ‰ of all, when it looks for one to kill. A command can be
 * said again at once, a server has to start anew.
 */
const shareAdded = { program: 900, server: 500 } as const

/**
 * Where memory runs out, the kernel kills one of the container's processes: this one, with whatever it starts, before
 * the agent. Whoever ran it hears of it, while an agent that is killed loses the work of all.
 */
export function markKilledFirst(pid: number | undefined, what: keyof typeof shareAdded): void {
  if (pid === undefined) return
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(shareAdded[what]))
  } catch {
    // It has ended, or this system has no such file.
  }
}

/**
 * The command line that runs a program with the least weight that a kernel gives: however many processes it becomes, the
 * agent, which has one, still answers within its share of a processor. The program cannot take weight back.
 */
export function servedLast(file: string, parameters: readonly string[]): [string, string[]] {
  return ['nice', ['-n', '19', file, ...parameters]]
}
