import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { SandboxState } from '../../sandbox/index.ts'
import type { AgentContext } from './agent-context.ts'
import {
  meshEndpointLabel,
  meshEndpointMark,
  modelLabel,
  packagesLabel,
  placedOf,
  programsLabel,
  sizeLabel,
  startIdLabel,
} from './agent-sandbox.ts'
import type { AgentRow } from '../registry/agent-table.ts'

export interface ReconcileReport {
  /** Agents whose sandboxes continued to run after the previous mesh ended, and are in use again. */
  readonly adopted: readonly string[]
  /** Sandboxes of this home that belong to no agent, or to an earlier start. Their data is kept. */
  readonly removed: readonly string[]
  /** Agents that were recorded as running and whose sandboxes do not run. */
  readonly stopped: readonly string[]
}

/** How long a starting mesh waits for a running agent to answer before it replaces it, in milliseconds. */
const probeDeadlineMs = 5000

/**
 * Reconciles the engine with the table, at the start of the mesh before any other use of the fleet. A sandbox is
 * adopted if it runs, has the agent's last start id and knows the current API address and key. A mesh that died
 * during a start may have left the sandbox with its start share, which is taken back first.
 */
export async function reconcileFleet(context: AgentContext): Promise<ReconcileReport> {
  const report = { adopted: [] as string[], removed: [] as string[], stopped: [] as string[] }
  const sandboxes = new Map((await context.runtime.list()).map((sandbox) => [sandbox.agentId, sandbox]))
  const rows = context.agents.list()
  await context.packages.readLocks(rows.map(({ record }) => record.id))
  for (const row of rows) {
    const { id } = row.record
    const sandbox = sandboxes.get(id)
    await context.mutex.take(id, async () => {
      // A mesh that was killed during a start may have left the agent's one-time files.
      await context.briefings.takeOnce(id)
      if (sandbox && (await isOurs(context, row, sandbox)) && (await hasOwnShare(context, id))) {
        adopt(context, row, sandbox)
        report.adopted.push(id)
        return
      }
      if (wasUp(row)) report.stopped.push(id)
      if (sandbox?.running) report.removed.push(id)
      await settleAsStopped(context, row, sandbox)
    })
    sandboxes.delete(id)
  }
  for (const stray of sandboxes.keys()) {
    // A sandbox without a row may result from a restored database, so its data is kept; only a deletion destroys
    // data.
    await context.runtime.remove(stray, { data: false })
    report.removed.push(stray)
  }
  return report
}

/** Returns true if the agent's row says that its sandbox is running or starting. */
function wasUp({ state }: AgentRow): boolean {
  return isLive(state.kind) || state.kind === 'starting'
}

async function isOurs(context: AgentContext, row: AgentRow, sandbox: SandboxState): Promise<boolean> {
  if (!wasUp(row)) return false
  if (!sandbox.running || !sandbox.address) return false
  if (row.startId === null || sandbox.labels[startIdLabel] !== row.startId) return false
  if (sandbox.labels[meshEndpointLabel] !== meshEndpointMark(context.sandboxes.endpoint())) return false
  // A running agent may be slow because of its work, so only the health sweep judges such an agent. An incomplete
  // start is not adopted.
  if (isLive(row.state.kind)) return true
  return context.sandboxes
    .connect(row.record.id, sandbox.address)
    .healthy(AbortSignal.timeout(probeDeadlineMs))
}

async function hasOwnShare(context: AgentContext, agentId: string): Promise<boolean> {
  try {
    await context.runtime.endStartShare(agentId)
    return true
  } catch (error) {
    context.log.error(
      { agentId, err: error },
      'failed to apply the CPU limit to an agent; removing its sandbox',
    )
    return false
  }
}

function adopt(context: AgentContext, row: AgentRow, sandbox: SandboxState): void {
  const { id } = row.record
  if (sandbox.address) context.sandboxes.addresses.set(id, sandbox.address)
  context.sandboxes.lastUsed.set(id, context.clock.now())
  const placed = placedOf(sandbox.labels)
  context.sandboxes.placed.set(id, placed)
  context.placing.adopted(placed.rung)
  const label = sandbox.labels[modelLabel] ?? ''
  const startedWith = label === '' ? null : label
  context.sandboxes.startedModels.set(id, startedWith)
  context.sandboxes.startedPrograms.set(id, sandbox.labels[programsLabel] ?? '')
  context.sandboxes.startedPackages.set(id, sandbox.labels[packagesLabel] ?? '')
  context.sandboxes.startedSizes.set(id, sandbox.labels[sizeLabel] ?? '')
  if (startedWith !== (row.record.model ?? context.settings.defaultModel()))
    context.sandboxes.outdated.set(id, startedWith)
  context.database.transaction(() => {
    context.agents.move(id, { kind: 'answer', at: context.clock.now() })
    context.journal.append({
      actor: 'system',
      action: 'agent.adopted',
      subject: id,
      detail: { start_id: row.startId ?? '' },
    })
  })
}

async function settleAsStopped(
  context: AgentContext,
  row: AgentRow,
  sandbox: SandboxState | undefined,
): Promise<void> {
  const { id } = row.record
  context.tokens.revoke(id)
  // An ended sandbox is not removed, because its log is kept; the next start of the agent removes it.
  if (sandbox?.running) await context.runtime.remove(id, { data: false })
  const at = context.clock.now()
  // A stop that the previous mesh did not complete is complete by now; a deletion continues with the next
  // sweep.
  if (row.state.kind === 'stopping') context.agents.move(id, { kind: 'end', at })
  if (!wasUp(row)) return
  const { code = -1, outOfMemory = false } = sandbox?.exit ?? {}
  const reason = 'the agent ended while the mesh was not running'
  context.database.transaction(() => {
    context.agents.move(id, { kind: 'stop', at, to: 'stopped', reason })
    context.agents.move(id, { kind: 'end', at })
    context.journal.append({
      actor: 'system',
      action: 'agent.died',
      subject: id,
      detail: { start_id: row.startId ?? '', exit_code: code, out_of_memory: outOfMemory },
    })
    context.events.publish({ type: 'agent.died', agent_id: id, exit_code: code, out_of_memory: outOfMemory })
  })
  if (isLive(row.state.kind)) context.fleetEvents.sandboxGone.publish({ agentId: id, reason: 'died' })
}
