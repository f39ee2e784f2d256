import { Problem } from '@flotilla/protocol/problem'
import { defaultSession } from '../runs/default-session.ts'
import type { RunRecord } from '../runs/lifecycle/run-record.ts'
import { originOf } from '../runs/submit-run.ts'
import { steerView } from '../runs/steering/steer-view.ts'
import type { RunFrame } from '../runs/delivery/subscribe-run.ts'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'
import type { AgentUseCases } from './agent.routes.ts'
import type { FleetUseCases } from '../control/fleet.routes.ts'
import type { RunUseCases } from '../runs/people.routes.ts'
import type { InternalUseCases } from '../diagnostics/internal.routes.ts'
import type { ArtifactRow } from '../collaboration/artifacts/artifact-table.ts'
import type { MeshParts } from './compose-parts.ts'
import { agentScope, monthOf, utcDay } from '../spending/spend-table.ts'
import { usdFromNano } from '../spending/money.ts'
import { systemClock } from '../platform/system-clock.ts'
import { answering } from '../storage/resumable.ts'
import { requireOwner } from '../access/at-terminal.ts'
import { productVersion } from '../platform/version.ts'
import { fleetMetrics } from './compose-metrics.ts'
import { judgeReadiness } from '../diagnostics/doctor/judge-readiness.ts'
import type { Readiness } from '../diagnostics/doctor/judge-readiness.ts'
import type { AgentActivity } from '../agents/fleet-view.ts'

/** What stands behind the agent door, in the words of its wire. */
export function agentUseCases({
  ledger,
  fleet,
  blackboard,
  tasks,
  artifacts,
  notes,
  forwardRequest,
}: MeshParts): AgentUseCases {
  return {
    renewLease: ({ run }) => ({ lease_until: run ? ledger.lease.beat(run) : 0 }),
    listAgents: (caller) => ({ agents: [...fleet.listAgents(caller)] }),
    listEntries: (caller, prefix) => ({ entries: [...blackboard.list(caller, prefix).entries] }),
    readEntry: blackboard.read,
    writeEntry: (caller, key, body) =>
      blackboard.write(caller, {
        key,
        value: body.value,
        expectedVersion: body.expected_version,
        ttlSeconds: body.ttl_s,
      }),
    handOff: (caller, { token_budget: tokenBudget, ...body }, idempotencyKey) =>
      tasks.handOff(caller, { ...body, tokenBudget, idempotencyKey }),
    steer: (caller, input) => steerView(ledger.steerRun(caller, input)),
    steersTaken: (caller, body) => ({ taken: ledger.takeSteers(caller, body) }),
    listInbox: (caller) => {
      const { assigned, given } = tasks.listInbox(caller)
      return { assigned: [...assigned], given: [...given] }
    },
    completeTask: (caller, taskId, body) => tasks.completeTask(caller, { taskId, ...body }),
    saveArtifact: async (caller, { content_base64: contentBase64, ...body }, step) =>
      savedArtifact(await artifacts.save(caller, { ...body, contentBase64 }, answering(step, savedArtifact))),
    notifyOwner: (caller, message, idempotencyKey) => ({
      note_id: notes.notifyOwner(caller, { message, idempotencyKey }).id,
    }),
    forwardRequest,
  }
}

function savedArtifact({ name, sizeBytes, sha256 }: ArtifactRow) {
  return { name, size_bytes: sizeBytes, sha256 }
}

export function runUseCases({ ledger, tasks, guard, modelDoor }: MeshParts): RunUseCases {
  return {
    submit: (caller, request) => ledger.view(ledger.submitRun(caller, request)),
    chat: (caller, { message, session = defaultSession(originOf(caller)), ...request }) =>
      ledger.view(ledger.submitRun(caller, { ...request, input: { kind: 'chat', message, session } })),
    steer: (caller, request) => steerView(ledger.steerRun(caller, request)),
    follow: (runId, signal) => frames(runId, ledger.subscribe.frames(runId, signal)),
    outcomeRead: (caller, runId) => {
      guard(caller, { do: 'view-fleet' })
      ledger.subscribe.read(runId)
    },
    runs: (caller, { agent, limit }) => {
      guard(caller, { do: 'view-fleet' })
      const page = agent === undefined ? { limit } : { limit, agentId: agent }
      return { runs: ledger.list(page).map((run) => ledger.view(run)) }
    },
    run: (caller, id) => ledger.view(requireRun(caller, id)),
    cancelRun: (caller, id) => ledger.view(ledger.cancelRun(caller, id)),
    tasks: (caller, { agent, limit }) => ({
      tasks: [...tasks.listTasks(caller, agent === undefined ? { limit } : { limit, agentId: agent })],
    }),
    allowEvents: (caller) => guard(caller, { do: 'view-fleet' }),
  }

  function requireRun(caller: Parameters<typeof guard>[0], id: string) {
    guard(caller, { do: 'view-fleet' })
    const run = ledger.find(id)
    if (!run) throw new Problem('not-found', { detail: `there is no run ${id}` })
    return run
  }

  /** Who is told the outcome is told the whole cost: what the last call of the run cost may still wait to be written. */
  function accounted(run: RunRecord): RunRecord {
    modelDoor.gate.flush()
    return ledger.find(run.id) ?? run
  }

  async function* frames(runId: string, source: AsyncIterable<RunFrame>): AsyncGenerator<ChatStreamFrame> {
    yield { type: 'accepted', run_id: runId }
    for await (const frame of source) {
      yield frame.type === 'event' ? frame : { type: 'ended', run: ledger.view(accounted(frame.run)) }
    }
  }
}

export function fleetUseCases(parts: MeshParts): FleetUseCases {
  const { fleet, guard, blackboard, artifacts, walls, recorder } = parts
  const activity = activityOf(parts)
  return {
    status: (caller) => {
      guard(caller, { do: 'view-fleet' })
      return {
        version: productVersion,
        home: parts.paths.home,
        pid: parts.context.pid,
        uptime_seconds: Math.round((systemClock.now() - parts.startedAt) / 1000),
        runtime: runtimeView(parts),
        default_model: parts.catalog.preset(),
        ready: readiness(parts),
        pauses: [...parts.pauses.view()],
        agents: [...fleet.view(activity)],
        runs: { ...parts.ledger.countByState() },
      }
    },
    createAgent: async (caller, body) => {
      const { budget, ...rest } = body
      const limits = budget && { dailyUsd: budget.daily_usd, monthlyUsd: budget.monthly_usd }
      const { id } = await fleet.create(caller, { ...rest, budget: limits })
      return fleet.viewOf(id, activity)
    },
    restartAgent: async (caller, agentId) => {
      await fleet.restart(caller, agentId)
      return fleet.viewOf(agentId, activity)
    },
    applyTemplate: async (caller, name) => {
      const { created, existing } = await fleet.applyTemplate(caller, name)
      return { created: [...created], existing: [...existing] }
    },
    writeFile: async (caller, { agentId, path, content }) => {
      guard(caller, { do: 'manage-fleet' })
      const signal = AbortSignal.timeout(fileWriteMaxMs)
      const connection = await fleet.reach(agentId, signal)
      await connection.writeFile(path, content, signal)
      return { path, size: content.length }
    },
    blackboard: (caller, prefix) => ({ entries: [...blackboard.list(caller, prefix).entries] }),
    artifacts: (caller) => ({
      artifacts: artifacts.list(caller).map((row) => ({
        agent_id: row.agentId,
        name: row.name,
        description: row.description,
        size_bytes: row.sizeBytes,
        sha256: row.sha256,
        saved_at: row.savedAt,
      })),
    }),
    artifact: async (caller, agentId, name) => (await artifacts.read(caller, agentId, name)).content,
    costs: (caller) => {
      guard(caller, { do: 'view-fleet' })
      return { agents: fleet.list().map(({ id, budget }) => costsOf(parts, id, budget)) }
    },
    walls: (caller) => {
      guard(caller, { do: 'view-fleet' })
      const { checkedAt, walls: reports } = walls.state()
      return { checked_at: checkedAt, walls: [...reports] }
    },
    startRecording: (caller) => {
      guard(caller, { do: 'manage-fleet' })
      recorder.start()
      return { recording: true }
    },
    stopRecording: (caller) => {
      guard(caller, { do: 'manage-fleet' })
      return recorder.stop()
    },
    metrics: (caller) => {
      requireOwner(caller, 'read the metrics')
      guard(caller, { do: 'view-fleet' })
      return fleetMetrics(parts, activity)
    },
  }
}

function runtimeView({ runtime, settings, isServing }: MeshParts) {
  return {
    kind: runtime.kind,
    isolates: runtime.isolates,
    data_bound: isServing() ? runtime.dataBound().kind : ('unknown' as const),
    data_limit_mb: settings.current().data_limit_mb,
  }
}

/** A file goes in at once or not at all; nobody waits longer for a container that does not answer. */
const fileWriteMaxMs = 120_000

export function internalUseCases({ walls, guard, journalKeeper }: MeshParts): InternalUseCases {
  return {
    verifyWalls: async (caller) => {
      guard(caller, { do: 'manage-fleet' })
      const { checkedAt, walls: reports } = await walls.verify()
      return { checked_at: checkedAt, walls: [...reports] }
    },
    verifyJournal: (caller) => {
      guard(caller, { do: 'view-fleet' })
      const { ok, rows, detail } = journalKeeper.verifyWhole()
      return { ok, rows, ...(detail === undefined ? {} : { detail }) }
    },
  }
}

export function activityOf({ ledger, modelDoor, pauses }: MeshParts): (agentId: string) => AgentActivity {
  return (agentId) => ({
    ...ledger.laneOf(agentId),
    pausedReason: pauses.reasonFor(agentId),
    costTodayUsd: usdFromNano(
      modelDoor.spend.total(agentScope(agentId), utcDay(systemClock.now())).spentNano,
    ),
  })
}

export function costsOf(
  { modelDoor }: MeshParts,
  agentId: string,
  budget: { dailyUsd: number; monthlyUsd: number },
) {
  const day = utcDay(systemClock.now())
  const today = modelDoor.spend.total(agentScope(agentId), day)
  const month = modelDoor.spend.total(agentScope(agentId), monthOf(day))
  return {
    agent_id: agentId,
    today_usd: usdFromNano(today.spentNano),
    month_usd: usdFromNano(month.spentNano),
    budget: { daily_usd: budget.dailyUsd, monthly_usd: budget.monthlyUsd },
    calls: month.calls,
    tokens: month.tokens,
  }
}

/** What agents are judged ready by, as it stands now. */
export function readiness(parts: MeshParts): Readiness {
  const { permissions, settings, walls, journalKeeper, diskRoom, cron, modelDoor, isServing } = parts
  return judgeReadiness({
    permissions: permissions.snapshot().broken,
    settings: settings.broken(),
    walls: walls.state().broken,
    journal: journalKeeper.broken(),
    disk: diskRoom.shortage(),
    jobs: cron.broken(),
    money: modelDoor.gate.found.words,
    serving: isServing(),
  })
}
