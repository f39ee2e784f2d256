import { writeFileSync } from 'node:fs'
import { programNicenessVariable } from '@flotilla/protocol/program-niceness'

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
 * The command line of a program that its agent is served before, however many processes it becomes, where the agent's place
 * asks for that: where software stands for the processor, some hundred processes would leave an agent no time to answer.
 * Not everywhere: one that is killed for want of memory may be long in giving it back. It cannot take weight back.
 */
export function servedLast(
  environment: Readonly<Record<string, string>>,
  [file, ...parameters]: readonly [string, ...string[]],
): [string, string[]] {
  const niceness = environment[programNicenessVariable]
  return niceness === undefined ? [file, parameters] : ['nice', ['-n', niceness, file, ...parameters]]
}
