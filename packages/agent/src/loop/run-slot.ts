import type { ResultReply, TaskResult } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { SteerMessage } from '@flotilla/protocol/steer'
import { isDiskFull, isWritingOver } from '../files/state-file.ts'
import type { Log } from '@flotilla/protocol/json-log'
import { createInTurn } from '@flotilla/protocol/turns'
import { createActiveRun } from './active-run.ts'
import type { AbortReason, ActiveRun, RunHooks } from './active-run.ts'
import { keepOutcome } from './run-files.ts'
import type { Checkpoints, KeptOutcome, Outcomes } from './run-files.ts'
import { inputText, steersOf } from './run-request.ts'
import type { RunRequest } from './run-request.ts'
import { abortedEnd, taskResult } from './task-result.ts'
import type { RunEnd } from './task-result.ts'

export interface ExecutedRun {
  readonly result: TaskResult
  readonly lastStep: number
}

/** Executes the work of a run. Resolves also when the work fails; a rejection is an internal error. */
export type ExecuteRun = (job: {
  request: RunRequest
  inputHash: string
  /** Steps that earlier attempts of this run have used. */
  stepsUsed: number
  hooks: RunHooks
  signal: AbortSignal
}) => Promise<ExecutedRun>

export type Admission =
  | { readonly state: 'executing' | 'attached'; readonly run: ActiveRun }
  | { readonly state: 'finished'; readonly result: TaskResult }

/**
 * Executes one run at a time. Invariants:
 *
 * - **D1** The same run with the same fencing token attaches to the running attempt.
 * - **D2** A finished run answers with its outcome and is not executed again, unless its input differs.
 * - **D3** A higher fencing token always wins: the running attempt is aborted first. A lower one is
 *   `stale-fence`.
 * - **D4** An outcome is on disk before it is published. An attempt that was taken over, or stopped with the
 *   process, leaves its checkpoint and no outcome. If the outcome cannot be written at all, nothing is
 *   published and the process ends: the next one starts with the file handles and memory that this one may lack. If
 *   only the disk is full or the path is taken, the outcome is kept in memory and published.
 * - **D5** No client can end a run by disconnecting.
 */
export interface RunSlot {
  take(request: RunRequest): Promise<Admission>
  /** Sends steers to the run; false if it is not executing with that fencing token, or cannot be steered. */
  steer(runId: string, fence: number, steers: readonly SteerMessage[]): boolean
  /** Cancels a run. False if the run is not executing with this fencing token. */
  cancel(runId: string, fence: number): boolean
  current(): ActiveRun | null
  result(runId: string, waitMs: number): Promise<ResultReply>
  counts(): { completed: number; failed: number }
  /** Stops the current run at its last checkpoint; another process continues the run. */
  stop(): Promise<void>
}

/** How long an aborted run may take to release its resources before the next one starts beside it. */
const stopMaxMs = 5000

export function createRunSlot(deps: {
  execute: ExecuteRun
  outcomes: Outcomes
  checkpoints: Checkpoints
  /** Called when the agent cannot write its own state; ends the process. */
  cannotWrite: (error: unknown) => void
  clock: Clock
  log: Log
}): RunSlot {
  const { clock, log, outcomes } = deps
  let current: ActiveRun | null = null
  let highestFence = 0
  let stopping = false
  const inTurn = createInTurn()
  const counts = { completed: 0, failed: 0 }

  const abort = async (run: ActiveRun, reason: AbortReason): Promise<void> => {
    run.abort(reason)
    await Promise.race([run.ended, clock.sleep(stopMaxMs)])
  }
  /** Returns false if the process is about to end because it cannot write its own state. */
  const store = async (runId: string, outcome: KeptOutcome): Promise<boolean> => {
    try {
      await keepOutcome(deps, runId, outcome)
    } catch (err) {
      log.error({ runId, err }, 'failed to write the outcome of a run; keeping it in memory')
      // If the disk is full, the outcome stays in memory, so that the answer is not lost.
      if (!isWritingOver(err)) return true
      deps.cannotWrite(err)
      return false
    }
    return true
  }
  const finish = async (run: ActiveRun, done: ExecutedRun, inputHash: string): Promise<void> => {
    const leftOver = done.result.status === 'cancelled' && run.hooks.isLeftToAnother()
    if (!leftOver) {
      if (done.result.status === 'complete') counts.completed += 1
      else counts.failed += 1
      const outcome = { inputHash, lastStep: done.lastStep, result: done.result }
      if (!(await store(run.request.runId, outcome))) return
    }
    if (current === run) current = null
    run.end(done.result)
    log.info(
      { runId: run.request.runId, fence: run.request.fence, status: done.result.status },
      'a run ended; the outcome is stored until the mesh has confirmed it',
    )
  }
  const takeSteers = (run: ActiveRun, steers: readonly SteerMessage[]): void => {
    const fresh = run.hear(steers).map(({ id }) => id)
    if (fresh.length === 0) return
    log.info(
      { runId: run.request.runId, steers: fresh },
      'a run received a message; the run reads it before its next round',
    )
  }
  const start = (request: RunRequest, inputHash: string, kept: KeptOutcome | null): ActiveRun => {
    const run = createActiveRun(request, clock)
    takeSteers(run, steersOf(request))
    current = run
    highestFence = request.fence
    log.info({ runId: request.runId, fence: request.fence, kind: request.kind }, 'a run started')
    const job = { request, inputHash, stepsUsed: kept?.lastStep ?? 0, hooks: run.hooks, signal: run.signal }
    void deps
      .execute(job)
      .catch((err: unknown) => endedBy(err, { run, stepsUsed: job.stepsUsed, log }))
      .then((done) => finish(run, done, inputHash))
    return run
  }
  const finishedBefore = async (
    { runId, fence }: RunRequest,
    inputHash: string,
  ): Promise<Admission | null> => {
    const kept = await outcomes.find(runId)
    if (!kept || (kept.inputHash !== inputHash && fence > kept.result.fence)) return null
    if (fence <= kept.result.fence) return { state: 'finished', result: kept.result }
    // The next request comes with the newer attempt's fencing token, and accepts only an answer with that token.
    const result = { ...kept.result, fence }
    await outcomes.save({ ...kept, result })
    return { state: 'finished', result }
  }
  const admit = async (request: RunRequest): Promise<Admission> => {
    if (stopping) throw new Problem('agent-unavailable', { detail: 'The agent is stopping.' })
    const { fingerprint } = await import('./fingerprint.ts')
    const inputHash = fingerprint(inputText(request))
    const { runId, fence } = request
    const active = current
    if (active && active.request.runId === runId && active.request.fence === fence) {
      takeSteers(active, steersOf(request))
      return { state: 'attached', run: active }
    }
    const known = await finishedBefore(request, inputHash)
    if (known) return known
    if (fence < highestFence) {
      throw new Problem('stale-fence', { detail: `A newer attempt has the fence ${highestFence}.` })
    }
    if (active) {
      if (fence === active.request.fence) {
        throw new Problem('agent-busy', { detail: `The agent is working on run ${active.request.runId}.` })
      }
      await abort(active, 'superseded')
      // The run may have ended just before this request.
      const ended = await finishedBefore(request, inputHash)
      if (ended) return ended
    }
    const kept = await outcomes.find(runId)
    return { state: 'executing', run: start(request, inputHash, kept) }
  }
  return {
    take: (request) => inTurn(() => admit(request)),
    steer: (runId, fence, steers) => {
      if (current?.request.runId !== runId || current.request.fence !== fence) return false
      if (current.request.kind === 'tool' || current.abortedFor() !== null) return false
      takeSteers(current, steers)
      return true
    },
    cancel: (runId, fence) => {
      if (current?.request.runId !== runId || current.request.fence !== fence) return false
      current.abort('cancelled')
      return true
    },
    current: () => current,
    result: async (runId, waitMs) => {
      const active = current
      if (active?.request.runId === runId && waitMs > 0) {
        const waiting = new AbortController()
        const time = clock.sleep(waitMs, waiting.signal).catch(() => undefined)
        await Promise.race([active.ended, time])
        waiting.abort()
      }
      if (current?.request.runId === runId) return { state: 'working', fence: current.request.fence }
      const kept = await outcomes.find(runId)
      return kept ? { state: 'finished', result: kept.result } : { state: 'unknown' }
    },
    counts: () => ({ ...counts }),
    stop: async () => {
      stopping = true
      if (current) await abort(current, 'stopping')
    },
  }
}

/** Returns the end of a run whose execution threw an error. */
function endedBy(
  err: unknown,
  { run, stepsUsed, log }: { readonly run: ActiveRun; readonly stepsUsed: number; readonly log: Log },
): ExecutedRun {
  const { request, signal } = run
  const { runId } = request
  const isItsStop = signal.aborted && err === signal.reason
  if (err instanceof Problem && !isItsStop)
    log.warn({ runId, code: err.code, err }, 'a run was rejected; it ends as failed or stopped')
  else if (!isItsStop) log.error({ runId, err }, 'internal error in a run; it ends as failed or stopped')
  const taskId = request.kind === 'task' ? request.assignment.task_id : null
  const facts = { taskId, toolOutputs: [], tokens: 0, costUsd: 0, durationMs: 0 }
  // A run that was stopped from outside, for example while it waits for the mesh before its first round, has
  // not failed: another attempt may continue it.
  const end = signal.aborted ? abortedEnd(signal) : failedInside(err)
  return { result: taskResult(request, end, facts), lastStep: Math.max(stepsUsed, run.step()) }
}

function failedInside(err: unknown): RunEnd {
  if (isDiskFull(err)) {
    const detail = 'No space left below /data to store the state of the run.'
    return { status: 'failed', code: 'data-full', detail }
  }
  if (err instanceof Problem) return { status: 'failed', code: err.code, detail: err.detail }
  return {
    status: 'failed',
    code: 'internal-error',
    detail: 'Internal error of the agent; see its log.',
  }
}
