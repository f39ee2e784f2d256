import { writeFileSync } from 'node:fs'

/** Of -1000 to 1000, what the kernel adds to a program's share of memory in ‰ when it looks for one to kill. */
const shareAdded = 900

/**
 * Where memory runs out, the kernel kills one of the container's processes: this one, with whatever it starts, before
 * the agent. Whoever ran it hears of it, while an agent that is killed loses the work of all.
 */
export function markKilledFirst(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(shareAdded))
  } catch {
    // It has ended, or this system has no such file.
  }
}
