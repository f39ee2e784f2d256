import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { SandboxState } from '../../sandbox/index.ts'
import type { AgentLife } from './agent-life.ts'
import { doorLabel, doorMark, modelLabel, placedOf, startIdLabel } from './agent-sandbox.ts'
import type { AgentRow } from '../registry/agent-table.ts'

export interface ReconcileReport {
  /** Agents whose sandboxes outlived the mesh and go on. */
  readonly adopted: readonly string[]
  /** Sandboxes of this home that belong to no agent, or to an earlier start. Their data stays. */
  readonly removed: readonly string[]
  /** Agents whose sandboxes were believed to run and do not. */
  readonly stopped: readonly string[]
}

const probeDeadlineMs = 5000

/**
 * At the mesh's start, before anything else is asked of the fleet: brings what the engine holds and what the table
 * says together. A sandbox is adopted when it runs, bears the agent's last start id and knows our door and key. A mesh
 * that died while it started an agent left it with more of the processor than its share, so that is put right first.
 */
export async function reconcileFleet(life: AgentLife): Promise<ReconcileReport> {
  const report = { adopted: [] as string[], removed: [] as string[], stopped: [] as string[] }
  const sandboxes = new Map((await life.runtime.list()).map((sandbox) => [sandbox.agentId, sandbox]))
  for (const row of life.agents.list()) {
    const { id } = row.record
    const sandbox = sandboxes.get(id)
    await life.turns.take(id, async () => {
      // A mesh that was killed in mid-start may have left it behind.
      await life.briefings.takeOnce(id)
      if (sandbox && (await isOurs(life, row, sandbox)) && (await hasOwnShare(life, id))) {
        adopt(life, row, sandbox)
        report.adopted.push(id)
        return
      }
      if (wasUp(row)) report.stopped.push(id)
      if (sandbox?.running) report.removed.push(id)
      await settleAsStopped(life, row, sandbox)
    })
    sandboxes.delete(id)
  }
  for (const stray of sandboxes.keys()) {
    // Only a deletion destroys data; a sandbox without a row may come from a database that was put back.
    await life.runtime.remove(stray, { data: false })
    report.removed.push(stray)
  }
  return report
}

/** Whether its row says that its sandbox runs, or is about to. */
function wasUp({ state }: AgentRow): boolean {
  return isLive(state.kind) || state.kind === 'starting'
}

async function isOurs(life: AgentLife, row: AgentRow, sandbox: SandboxState): Promise<boolean> {
  if (!wasUp(row)) return false
  if (!sandbox.running || !sandbox.address) return false
  if (row.startId === null || sandbox.labels[startIdLabel] !== row.startId) return false
  if (sandbox.labels[doorLabel] !== doorMark(life.sandboxes.door())) return false
  // One that ran may be slow over its work: the health sweep is patient with it. A half-made start is not kept.
  if (isLive(row.state.kind)) return true
  return life.sandboxes.connect(row.record.id, sandbox.address).healthy(AbortSignal.timeout(probeDeadlineMs))
}

async function hasOwnShare(life: AgentLife, agentId: string): Promise<boolean> {
  try {
    await life.runtime.endStartShare(agentId)
    return true
  } catch (error) {
    life.log.error(
      { agentId, err: error },
      'agent could not be brought to its processor share; it is taken away',
    )
    return false
  }
}

function adopt(life: AgentLife, row: AgentRow, sandbox: SandboxState): void {
  const { id } = row.record
  if (sandbox.address) life.sandboxes.addresses.set(id, sandbox.address)
  life.sandboxes.lastUsed.set(id, life.clock.now())
  const placed = placedOf(sandbox.labels)
  life.sandboxes.placed.set(id, placed)
  life.placing.adopted(placed.rung)
  const label = sandbox.labels[modelLabel] ?? ''
  const startedWith = label === '' ? null : label
  life.sandboxes.startedModels.set(id, startedWith)
  if (startedWith !== (row.record.model ?? life.settings.defaultModel()))
    life.sandboxes.outdated.set(id, startedWith)
  life.database.transaction(() => {
    life.agents.move(id, { kind: 'answer', at: life.clock.now() })
    life.journal.append({
      actor: 'system',
      action: 'agent.adopted',
      subject: id,
      detail: { start_id: row.startId ?? '' },
    })
  })
}

async function settleAsStopped(
  life: AgentLife,
  row: AgentRow,
  sandbox: SandboxState | undefined,
): Promise<void> {
  const { id } = row.record
  life.tokens.revoke(id)
  // One that has ended stays for its log; any start takes it away.
  if (sandbox?.running) await life.runtime.remove(id, { data: false })
  const at = life.clock.now()
  // What a mesh began to stop and did not see ended is ended by now; a deletion goes on with the next sweep.
  if (row.state.kind === 'stopping') life.agents.move(id, { kind: 'end', at })
  if (!wasUp(row)) return
  const { code = -1, outOfMemory = false } = sandbox?.exit ?? {}
  const reason = 'it ended while the mesh was away'
  life.database.transaction(() => {
    life.agents.move(id, { kind: 'stop', at, to: 'stopped', reason })
    life.agents.move(id, { kind: 'end', at })
    life.journal.append({
      actor: 'system',
      action: 'agent.died',
      subject: id,
      detail: { start_id: row.startId ?? '', exit_code: code, out_of_memory: outOfMemory },
    })
    life.events.publish({ type: 'agent.died', agent_id: id, exit_code: code, out_of_memory: outOfMemory })
  })
  if (isLive(row.state.kind)) life.hooks.sandboxGone.tell({ agentId: id, reason: 'died' })
}
