import { writeFileSync } from 'node:fs'
import { programNicenessVariable } from '@flotilla/protocol/program-niceness'

/**
 * Added to the out-of-memory score of a process, in ‰ of all memory. Commands get more than servers, because a
 * command can be repeated at once and a server has to start again.
 */
const shareAdded = { program: 900, server: 500 } as const

/**
 * Makes the kernel kill this process and its children before the agent when memory runs out. The caller of a killed
 * program is informed, while a killed agent would lose all its work.
 */
export function markKilledFirst(pid: number | undefined, what: keyof typeof shareAdded): void {
  if (pid === undefined) return
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(shareAdded[what]))
  } catch {
    // The process has ended, or this system has no such file.
  }
}

/**
 * The command line of a program with lower CPU priority than the agent, for all its processes, if the agent's
 * host requests that: on an emulated processor some hundred processes would leave an agent no time to answer.
 * It is not used everywhere, because a low-priority process that was killed for memory is slow to release it.
 * A process cannot raise its priority again.
 */
export function servedLast(
  environment: Readonly<Record<string, string>>,
  [file, ...parameters]: readonly [string, ...string[]],
): [string, string[]] {
  const niceness = environment[programNicenessVariable]
  return niceness === undefined ? [file, parameters] : ['nice', ['-n', niceness, file, ...parameters]]
}
