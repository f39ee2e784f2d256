import { packagesApprovalKind } from '@flotilla/protocol/resource-requests-api'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import { createWaiters } from '@flotilla/foundation/platform'
import type { AgentCaller } from '@flotilla/identity/http'
import { joinedList } from '@flotilla/fleet/resources'
import { packagesKey } from '@flotilla/fleet/sandbox'
import type { ResolvedPackages } from '@flotilla/fleet/sandbox'
import type { AgentPackages } from '@flotilla/fleet/agents'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { WorkKernel } from '@flotilla/work/events'
import type { Runs } from '@flotilla/work/runs'
import { changedFiles } from './describe-files.ts'
import { lockSha256 } from './packages-approval.ts'
import type { PackageRequest, PackageRequestTable } from './package-request-table.ts'
import { packageRequestLimits as limits } from './request-limits.ts'

/** How long the search for requests pauses if none is stored, in milliseconds. */
const idleMs = 15_000

/** Chooses the locks of requests, one after another, and asks a person about each. */
export interface ChooseLocks {
  /** Looks at stored requests now. */
  wake(): void
  /** Ends the requests of a run that has ended before a person was asked. */
  runSettled(runId: string): void
  /** Works until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

/**
 * - **L1** An attempt is counted before it begins; after the last one the request fails, also if each ended the mesh.
 * - **L2** The approval and the lock that it shows are written in one transaction, with which the run waits for the
 *   approval instead of the request.
 * - **L3** A run is notified once of a request that fails before a person is asked.
 */
export function createChooseLocks(
  deps: Pick<WorkKernel, 'database' | 'journal' | 'clock' | 'log'> & {
    readonly table: PackageRequestTable
    readonly packages: Pick<AgentPackages, 'listWith' | 'lockOf' | 'keyOf' | 'resolve'>
    readonly approvals: Pick<ApprovalDesk, 'ask'>
    readonly runs: Pick<Runs, 'queries' | 'delivery'>
  },
): ChooseLocks {
  const { database, journal, clock, log, table, packages } = deps
  const waiters = createWaiters({ clock })
  let current: { readonly request: PackageRequest; readonly stop: AbortController } | null = null

  function fail(request: PackageRequest, detail: string): void {
    database.transaction(() => {
      table.end(request.id)
      const { id, rootId, runId } = request
      journal.append({
        actor: 'system',
        action: 'packages.request-failed',
        subject: rootId,
        detail: { request: id, run: runId, reason: detail.slice(0, 500) },
      })
      deps.runs.delivery.notifyRun(runId, `packages:${id}`, {
        kind: 'approval-outcome',
        approvalId: id,
        summary: 'add packages',
        state: 'failed',
        detail: `No person was asked: ${detail}`.slice(0, 2000),
      })
    })
  }

  /** Returns the agent as a caller in the run that requested the packages; null if the run has ended. */
  function callerOf({ agentId, runId }: PackageRequest): AgentCaller | null {
    const run = deps.runs.queries.find(runId)
    if (!run || isTerminal(run.state)) return null
    const { fence, taskId, origin, budgetUsd } = run
    const ticket = { runId, agentId, fence, taskId, origin, budgetUsd, budgetTokens: null }
    return { kind: 'agent', agentId, token: 'door', run: ticket }
  }

  async function ask(request: PackageRequest, chosen: ResolvedPackages, key: string): Promise<void> {
    const before = await packages.lockOf(packages.keyOf(request.rootId)).catch(() => null)
    const { lines, bytes } = changedFiles(chosen, before)
    const text = JSON.stringify(chosen.lock)
    if (Buffer.byteLength(text) > limits.lockMaxBytes)
      return fail(
        request,
        `the lock of the whole image would be larger than ${limits.lockMaxBytes / 1024 ** 2} MB; ask for fewer`,
      )
    if (lines.length > limits.filesMax)
      return fail(
        request,
        `the packages change ${lines.length} files of the image, and a person can check at most ${limits.filesMax}; ask for fewer`,
      )
    for (const one of table.sharing(request)) {
      try {
        database.transaction(() => {
          const caller = callerOf(one)
          if (caller === null) return table.end(one.id)
          const row = deps.approvals.ask(caller, {
            kind: packagesApprovalKind,
            args: {
              agent_id: one.rootId,
              asked_by: one.agentId,
              request_id: one.id,
              packages: { ...joinedList(one.packages, {}) } as JsonObject, // its members are lists of texts
              list_key: key,
              lock_sha256: lockSha256(text),
              files: [...lines],
              download_bytes: bytes,
              registries: [...chosen.registries],
              reason: one.reason,
            },
          })
          // The lock of an approval that was joined is stored with its first request.
          if (row.joined) table.end(one.id)
          else table.asked(one.id, text)
        })
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        fail(one, error.detail)
      }
    }
  }

  async function attempt(request: PackageRequest, signal: AbortSignal): Promise<void> {
    const list = packages.listWith(request.rootId, request.packages)
    const stop = new AbortController()
    current = { request, stop }
    if (request.attempts >= limits.attemptsMax) return fail(request, 'choosing the versions did not end')
    table.beginAttempt(request.id)
    try {
      const chosen = await packages.resolve(list, {
        downloadMaxBytes: limits.downloadMaxBytes,
        timeoutMs: limits.resolveMaxMs,
        signal: AbortSignal.any([signal, stop.signal]),
      })
      await ask(request, chosen, packagesKey(list))
    } catch (error) {
      if (signal.aborted || stop.signal.aborted) return
      if (!(error instanceof Problem)) throw error
      const isLast = request.attempts + 1 >= limits.attemptsMax
      if (error.code === 'packages-delayed' && !isLast)
        return table.postpone(request.id, clock.now() + limits.retryAfterMs)
      for (const one of table.sharing(request)) fail(one, error.detail)
    } finally {
      current = null
    }
  }

  return {
    wake: () => waiters.wake('requests'),
    runSettled: (runId) => {
      table.endChoosingOf(runId)
      const working = current
      if (working !== null && table.sharing(working.request).length === 0) working.stop.abort()
    },
    run: async (signal) => {
      while (!signal.aborted) {
        const request = table.next(clock.now())
        if (request === null) {
          await waiters.wait('requests', idleMs, signal)
          continue
        }
        await attempt(request, signal).catch((error: unknown) => {
          log.error(
            { requestId: request.id, err: error },
            'failed to choose the versions of requested packages',
          )
          fail(request, 'internal error; see the log of the mesh')
        })
      }
    },
  }
}
