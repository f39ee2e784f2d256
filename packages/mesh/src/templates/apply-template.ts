import { defaultHeartbeatSchedule } from '@flotilla/protocol/heartbeat-reply'
import type { NewId } from '@flotilla/protocol/ids'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import type { TemplatePlan } from '@flotilla/protocol/templates-api'
import type { Caller, PermissionGrants, PermissionStore } from '../access/index.ts'
import { actorOf, isAtTerminal, raisedPeriod, requireProof, workerDefaultRecord } from '../access/index.ts'
import type { AgentAdmin, AgentBriefing } from '../agents/index.ts'
import { agentSettingEdits, agentSettingsSchema } from '../config/index.ts'
import type { SettingsFile } from '../config/index.ts'
import type { BlackboardWatches } from '../collaboration/blackboard/index.ts'
import type { Projects } from '../collaboration/projects/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { Spending } from '../spending/index.ts'
import type { CronJob, CronJobs } from '../triggers/cron/index.ts'
import type { FileWatches, WatchersEdit } from '../triggers/watch/index.ts'
import type { PreparedHooks, Webhooks } from '../triggers/webhook/index.ts'
import type { ApplicationTable, ApplicationUndo } from './application-table.ts'
import { holdTemplate, requireWholeSettings } from './hold-template.ts'
import { requireMayWatch, requireWholeWatchers } from './hold-watchers.ts'
import { planTemplate } from './plan-template.ts'
import type { Planned } from './plan-template.ts'
import { standingFleet } from './standing-fleet.ts'
import type { StandingFleet, StandingFleetDeps } from './standing-fleet.ts'
import type { FleetTemplate } from './template-file.ts'
import { brokenOff, createUndoApplication, plain } from './undo-application.ts'
import type { NotUndone } from './undo-application.ts'

export interface ApplyTemplateDeps extends StandingFleetDeps {
  readonly kernel: Pick<Kernel, 'database' | 'guard' | 'decide' | 'journal' | 'clock' | 'log'> & {
    readonly newId: NewId
  }
  readonly grants: Pick<PermissionGrants, 'aboveOperatorCeiling'>
  readonly applications: ApplicationTable
  readonly agents: StandingFleetDeps['agents'] & Pick<AgentAdmin, 'write'> & AgentBriefing
  readonly permissions: StandingFleetDeps['permissions'] & Pick<PermissionStore, 'edit'>
  readonly spending: { readonly budgets: Pick<Spending['budgets'], 'projectLimits' | 'set'> }
  readonly webhooks: StandingFleetDeps['webhooks'] & Pick<Webhooks, 'prepare'>
  readonly jobs: StandingFleetDeps['jobs'] & Pick<CronJobs, 'edit' | 'readCondition'>
  readonly watches: StandingFleetDeps['watches'] & Pick<BlackboardWatches, 'give'>
  readonly projects: StandingFleetDeps['projects'] & Pick<Projects, 'give'>
  readonly fileWatches: StandingFleetDeps['fileWatches'] &
    Pick<FileWatches, 'refresh' | 'prepare' | 'write' | 'takeBack'>
  readonly settingsFile: StandingFleetDeps['settingsFile'] & Pick<SettingsFile, 'editAll'>
}

export interface Application {
  readonly plan: TemplatePlan
  readonly secrets: PreparedHooks['secrets']
}

export interface Asked {
  /** Of the plan that was shown; left out, whatever the template does now. */
  readonly digest?: string | undefined
  readonly onlyNew?: boolean
}

/**
 * Applies a template wholly or not at all. Problems `denied`, `human-only`, `unprocessable`, `conflict` where the plan is
 * another than was shown or the fleet has something of it in another sense.
 *
 * 1. The plan that is carried out is made in the turns of all agents that it changes.
 * 2. What stands in files (permissions, jobs, settings, watchers of folders) is written behind a row that says how to put it back, and before the rows.
 *    All rows are one transaction, which takes that row away: a mesh that is killed in between puts the files back at its
 *    next start, and one that is killed behind it has the whole.
 * 3. Files are put back only where they still hold what was written: a hand that came in between wins.
 */
export interface ApplyTemplate {
  plan(caller: Caller, template: FleetTemplate): TemplatePlan
  apply(caller: Caller, template: FleetTemplate, asked?: Asked): Promise<Application>
  /** Puts back what applications left that broke off, as far as it can: how many wholly, and what is left. */
  undoOpen(): Promise<{ readonly undone: number; readonly left: readonly NotUndone[] }>
}

export function createApplyTemplate(deps: ApplyTemplateDeps): ApplyTemplate {
  const { kernel, agents, applications, permissions, jobs } = deps
  const { database, guard } = kernel
  const undoOne = createUndoApplication(deps)

  function require(caller: Caller, template: FleetTemplate): StandingFleet {
    guard(caller, { do: 'manage-fleet' })
    requireMayWatch(caller, template)
    if (template.schedules.length > 0) guard(caller, { do: 'manage-cron' })
    if (template.projects.length > 0) guard(caller, { do: 'manage-projects' })
    const standing = standingFleet(deps)
    holdTemplate(template, deps.grants, standing)
    requireWholeWatchers(template, deps.fileWatches)
    requireWholeSettings(template, deps.settingsFile)
    agents.write.requireMay(caller, template.agents)
    for (const { when } of template.schedules) if (when !== undefined) jobs.readCondition(when)
    return standing
  }

  function planNow(caller: Caller, template: FleetTemplate, asked: Asked): Planned {
    const standing = require(caller, template)
    const hooksByHand = !kernel.decide(caller, { do: 'make-webhooks' }).allowed
    const planned = planTemplate(template, standing, { onlyNew: asked.onlyNew === true, hooksByHand })
    requireNotRaised(caller, planned, standing)
    if (asked.digest !== undefined && asked.digest !== planned.plan.digest) {
      throw new Problem('conflict', {
        detail: 'the fleet or the template has changed since this plan was made; look at the new one',
      })
    }
    return planned
  }

  async function carryOut(caller: Caller, planned: Planned): Promise<PreparedHooks['secrets']> {
    const id = kernel.newId('apply')
    const undo = undoOf(caller, planned, await deps.fileWatches.prepare(planned.watchers))
    applications.begin({ id, at: kernel.clock.now(), undo })
    let prepared: PreparedHooks | null = null
    try {
      await writeFiles(undo)
      prepared = await deps.webhooks.prepare(caller, planned.hooks)
      writeRows(caller, { id, planned, prepared })
    } catch (error) {
      const left = await undoOne({ id, undo })
      if (left.length === 0) throw error
      for (const { file, error: undoError } of left) {
        kernel.log.error(
          { file, err: undoError },
          'a file was not put back after a template failed; the next start of the mesh does it',
        )
      }
      throw brokenOff(error, left)
    } finally {
      await prepared?.release().catch((error: unknown) => {
        kernel.log.warn({ err: error }, 'secrets of webhooks that are not there are taken away in a minute')
      })
    }
    return prepared.secrets
  }

  function undoOf(
    caller: Caller,
    { permissions: wanted, settings, heartbeats, jobs: wishes }: Planned,
    watchers: WatchersEdit | null,
  ): ApplicationUndo {
    const records = permissions.snapshot()
    const madeBy = { created_by: actorOf(caller), created_at: kernel.clock.now() }
    const all = jobs.file.jobs()
    const written = [
      ...wishes.map((wish): CronJob => ({
        ...wish,
        ...(keptOf(all.find((job) => job.id === wish.id)) ?? madeBy),
      })),
      ...[...heartbeats].map(([agentId, schedule]) => heartbeatJob(agentId, schedule)),
    ]
    return {
      permissions: Object.fromEntries(
        [...wanted].map(([agentId, fields]) => {
          const before = records.recordOf(agentId) ?? null
          // A record of an agent that is not there is what a deletion left behind, and no grant.
          const base = agents.find(agentId) ? (before ?? workerDefaultRecord) : workerDefaultRecord
          return [agentId, { before, after: permissionRecordSchema.parse({ ...base, ...fields }) }]
        }),
      ),
      jobs: Object.fromEntries(
        written.map((after) => {
          const before = all.find((job) => job.id === after.id) ?? null
          return [after.id, { before: before && plain(before), after: plain(after) }]
        }),
      ),
      settings: Object.fromEntries(
        [...settings].map(([agentId, after]) => {
          const now = Object.entries(standingFleet(deps).settingsOf(agentId))
          const before = agentSettingsSchema.parse(Object.fromEntries(now.filter(([name]) => name in after)))
          return [agentId, { before, after }]
        }),
      ),
      watchers,
    }

    function heartbeatJob(agentId: string, schedule: string | null): CronJob {
      const known = all.find((job) => job.heartbeat && job.agent === agentId)
      if (known) return { ...known, schedule: schedule ?? known.schedule, enabled: schedule !== null }
      return {
        id: kernel.newId('cron'),
        agent: agentId,
        schedule: schedule ?? defaultHeartbeatSchedule,
        timezone: 'UTC',
        enabled: schedule !== null,
        suppress_empty: true,
        heartbeat: true,
        created_by: 'system',
        created_at: kernel.clock.now(),
      }
    }
  }

  async function writeFiles({
    permissions: records,
    jobs: written,
    settings,
    watchers,
  }: ApplicationUndo): Promise<void> {
    if (Object.keys(records).length > 0)
      await permissions.edit((now) => ({ ...now, ...mapped(records, ({ after }) => after) }), 'template')
    if (Object.keys(written).length > 0)
      await jobs.edit((now) =>
        putJobs(
          now,
          mapped(written, ({ after }) => after),
        ),
      )
    if (Object.keys(settings).length > 0)
      await deps.settingsFile.editAll(() =>
        Object.entries(settings).flatMap(([agentId, { after }]) =>
          agentSettingEdits(agentId, Object.keys(after), after),
        ),
      )
    if (watchers !== null) await deps.fileWatches.write(watchers)
  }

  /** All that is in rows, and the end of the application with it. */
  function writeRows(
    caller: Caller,
    {
      id,
      planned,
      prepared,
    }: { readonly id: string; readonly planned: Planned; readonly prepared: PreparedHooks },
  ): void {
    database.transaction(() => {
      for (const { name, dailyUsd, monthlyUsd, texts } of planned.projects) {
        deps.spending.budgets.set(
          caller,
          { scope: 'project', id: name },
          { daily_usd: dailyUsd, monthly_usd: monthlyUsd },
        )
        deps.projects.give(caller, name, texts)
      }
      agents.write.rows(caller, planned)
      prepared.write()
      for (const { agent, ...watch } of planned.watches)
        deps.watches.give(caller, { agentId: agent, ...watch })
      const { name, items } = planned.plan
      const did = (action: string) => items.filter((item) => item.action === action).length
      kernel.journal.append({
        actor: actorOf(caller),
        action: 'template.applied',
        subject: name,
        detail: {
          created: did('create'),
          changed: did('change'),
          jobs: planned.jobs.map((job) => job.id),
          agents: [...planned.created, ...planned.changed].map((agent) => agent.id),
          watchers: planned.watchers.length,
        },
      })
      applications.end(id)
    })
  }

  return {
    plan: (caller, template) => planNow(caller, template, {}).plan,
    async apply(caller, template, asked = {}) {
      await deps.fileWatches.refresh()
      const before = planNow(caller, template, asked)
      holdPage(caller, before, standingFleet(deps))
      const ids = template.agents.map((agent) => agent.id)
      const application = await agents.write.inTurns(ids, async () => {
        // The turns may have been waited for, and another may have made one of them meanwhile.
        await deps.fileWatches.refresh()
        const planned = planNow(caller, template, { ...asked, digest: asked.digest ?? before.plan.digest })
        return { plan: planned.plan, secrets: await carryOut(caller, planned) }
      })
      await agents.refreshBriefings()
      return application
    },
    async undoOpen() {
      const open = applications.open()
      const left: NotUndone[] = []
      for (const one of open) left.push(...(await undoOne(one)))
      return { undone: open.length - applications.open().length, left }
    },
  }
}

/** Who made a job stays who made it. */
function keptOf(job: CronJob | undefined): Pick<CronJob, 'created_by' | 'created_at'> | null {
  return job ? { created_by: job.created_by, created_at: job.created_at } : null
}

/** Whoever is no person at a terminal raises no budget of an agent that is there, as with any edit. */
function requireNotRaised(caller: Caller, { changed }: Planned, standing: StandingFleet): void {
  if (isAtTerminal(caller)) return
  for (const { id, budget } of changed) {
    const before = standing.agent(id)?.record.budget
    const raised = before && budget ? raisedPeriod(before, budget) : null
    if (raised) throw new Problem('human-only', { detail: `agent ${id}: ${raised.field}: ${raised.reason}` })
  }
}

/** Problem `proof-wanted` for a page after which agents that are there may more, or any has MCP servers or a folder watched. */
function holdPage(caller: Caller, planned: Planned, standing: StandingFleet): void {
  const { created, changed, permissions, settings, watchers } = planned
  if (watchers.length > 0) requireProof(caller, 'have folders of this machine watched')
  const servers = [...created, ...changed].some((agent) => Object.keys(agent.mcpServers ?? {}).length > 0)
  const raises = changed.some(({ id, budget }) => {
    const before = standing.agent(id)?.record.budget
    return before !== undefined && budget !== undefined && raisedPeriod(before, budget) !== null
  })
  const more = changed.some(({ id }) => permissions.has(id) || settings.get(id)?.models !== undefined)
  if (servers || raises || more)
    requireProof(caller, 'give agents that are there more, or any agent MCP servers')
}

function mapped<In, Out>(record: Readonly<Record<string, In>>, map: (value: In) => Out): Record<string, Out> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}

function putJobs(now: readonly CronJob[], written: Readonly<Record<string, CronJob>>): readonly CronJob[] {
  const wanted = new Map(Object.entries(written))
  const kept = now.map((job) => wanted.get(job.id) ?? job)
  const ids = new Set(now.map(({ id }) => id))
  return [...kept, ...[...wanted.values()].filter(({ id }) => !ids.has(id))]
}
