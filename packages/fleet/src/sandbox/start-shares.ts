import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import type { SandboxSpec } from './sandbox-spec.ts'

/** Longest time for which a sandbox has more than its own share, from the beginning of its process. Milliseconds. */
export const startShareMs = 2_000
/**
 * The same limit for a virtual machine, whose kernel boots before its agent: seven processor seconds with software
 * emulation, longer on a busy host. Milliseconds.
 */
export const machineShareMs = 90_000
/**
 * The maximum wait for a start share, milliseconds; then a machine starts at its own share, seldom in time.
 */
const turnMaxMs = 600_000
/** The number of processors that one start may use. */
const startProcessors = 1
/**
 * How long an engine takes to change a share on a busy host, milliseconds; the change is requested this much earlier.
 */
const changeMs = 300
/** The pause before the mesh tries again to change the processor share of a sandbox, in milliseconds. */
const retryMs = 250

type CpuShare = SandboxSpec['cpu']

/**
 * Lends processor time to starting agents: most of a start is the start of Node, which would take over a
 * second at a tenth of a processor.
 *
 * - One processor always stays free for the rest of the machine. An agent that starts when no start share is
 *   available starts at its own share.
 * - An agent gets its next start share only after its own share would have given it the time of the last one.
 *   An agent that restarts repeatedly thus uses at most twice its own share.
 */
export interface StartShares {
  /** Lends a start share; returns null if none is available. An earlier share of the agent is released first. */
  lend(agentId: string, own: CpuShare): StartShare | null
  /**
   * Lends a share for the longer start of a virtual machine: waits in a queue while none is available. Its kernel and
   * not the agent uses that time, so the next share is not delayed; quarantine limits how often a machine is
   * restarted.
   */
  lendInTurn(agentId: string, own: CpuShare): Promise<StartShare | null>
  of(agentId: string): StartShare | null
  /** Takes back the agent's start share, because its process has ended or never began. */
  release(agentId: string): void
  /** Resolves when no share is lent any more; a share that cannot be taken back is given up. */
  close(): Promise<void>
}

export interface StartShare {
  readonly cpu: CpuShare
  /**
   * Starts the time limit of the share when the process has begun. `takeBack` resets the sandbox to its own share,
   * and is retried until it succeeds or the process has ended.
   */
  begin(takeBack: () => Promise<void>): void
  /** Resolves when a started process has its own share again; rejects with the engine's error. */
  end(): Promise<void>
}

interface Loan extends StartShare {
  readonly own: CpuShare
  readonly longestMs: number
  readonly over: AbortController
  begunAt: number | null
}

export function createStartShares({
  processors,
  clock,
  log,
}: {
  /** Processors of the machine on which the sandboxes run. */
  readonly processors: number
  readonly clock: Clock
  readonly log: Log
}): StartShares {
  const each = Math.min(startProcessors, processors / 2)
  const atOnceMax = Math.max(1, Math.floor(processors - 1))
  const loans = new Map<string, Loan>()
  /** The time from which each agent that had a start share may get the next one. */
  const dueAt = new Map<string, number>()
  /** Callers in `lendInTurn` that wait for a share, in order. */
  const waiting: (() => void)[] = []

  function release(agentId: string): void {
    const loan = loans.get(agentId)
    if (loan === undefined) return
    loans.delete(agentId)
    waiting.shift()?.()
    loan.over.abort()
    if (loan.begunAt === null || loan.longestMs > startShareMs) return
    const hadMs = clock.now() - loan.begunAt
    dueAt.set(agentId, clock.now() + hadMs * (each / processorsOf(loan.own)))
  }

  function mayLend(agentId: string, own: CpuShare): boolean {
    for (const [id, at] of dueAt) if (at <= clock.now()) dueAt.delete(id)
    return loans.size < atOnceMax && processorsOf(own) < each && !dueAt.has(agentId)
  }

  async function endInTime(agentId: string, loan: Loan): Promise<void> {
    await clock.sleep(loan.longestMs - changeMs, loan.over.signal)
    while (loans.get(agentId) === loan) {
      const failure = await loan.end().then(
        () => null,
        (error: unknown) => error,
      )
      if (failure === null) return
      log.warn({ agentId, err: failure }, 'failed to lower the CPU limit after a start; retrying')
      await clock.sleep(retryMs, loan.over.signal)
    }
  }

  function lend(agentId: string, own: CpuShare, longestMs: number): StartShare | null {
    release(agentId)
    if (!mayLend(agentId, own)) return null
    const loan = newLoan(agentId, own, longestMs)
    loans.set(agentId, loan)
    return loan
  }

  function newLoan(agentId: string, own: CpuShare, longestMs: number): Loan {
    let takeBack: (() => Promise<void>) | null = null
    let ending: Promise<void> | null = null
    const loan: Loan = {
      own,
      longestMs,
      cpu: startShareOf(own, each),
      over: new AbortController(),
      begunAt: null,
      begin: (how) => {
        takeBack = how
        loan.begunAt = clock.now()
        // If this rejects, the share was already released and nothing remains to be done.
        endInTime(agentId, loan).catch(() => undefined)
      },
      end: () => {
        if (loans.get(agentId) !== loan || takeBack === null) return Promise.resolve()
        ending ??= takeBack()
          .then(() => {
            if (loans.get(agentId) === loan) release(agentId)
          })
          .finally(() => {
            ending = null
          })
        return ending
      },
    }
    return loan
  }

  return {
    lend: (agentId, own) => lend(agentId, own, startShareMs),
    async lendInTurn(agentId, own) {
      release(agentId)
      const over = new AbortController()
      const late = clock.sleep(turnMaxMs, over.signal).catch(() => undefined)
      const end = clock.now() + turnMaxMs
      while (loans.size >= atOnceMax && clock.now() < end) {
        await Promise.race([late, new Promise<void>((resolve) => waiting.push(resolve))])
      }
      over.abort()
      dueAt.delete(agentId)
      return lend(agentId, own, machineShareMs)
    },
    of: (agentId) => loans.get(agentId) ?? null,
    release,
    async close() {
      await Promise.allSettled([...loans.values()].map((loan) => loan.end()))
      for (const agentId of loans.keys()) release(agentId)
    },
  }
}

/** Keeps the agent's own period, so that the later change of the share affects only the quota. Pure. */
export function startShareOf({ periodUs }: CpuShare, processors = startProcessors): CpuShare {
  return { quotaUs: Math.round(processors * periodUs), periodUs }
}

const processorsOf = ({ quotaUs, periodUs }: CpuShare): number => quotaUs / periodUs
