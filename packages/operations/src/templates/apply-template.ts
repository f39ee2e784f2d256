import { Problem } from '@flotilla/protocol/problem'
import type { TemplatePlan } from '@flotilla/protocol/templates-api'
import type { Caller } from '@flotilla/identity/access'
import { isAtTerminal, raisedPeriod, requireProof } from '@flotilla/identity/access'
import type { PreparedHooks } from '@flotilla/inbound/triggers/webhook'
import type { ApplyTemplateDeps } from './apply-context.ts'
import { carryOut } from './carry-out.ts'
import { holdTemplate, ownerGifts, requireMayGive, requireWholeSettings } from './hold-template.ts'
import { requireMayWatch, requireWholeWatchers } from './hold-watchers.ts'
import { planTemplate } from './plan-template.ts'
import type { Planned } from './plan-template.ts'
import { currentFleet } from './current-fleet.ts'
import type { CurrentFleet } from './current-fleet.ts'
import type { FleetTemplate } from './template-file.ts'
import { createUndoApplication } from './undo-application.ts'
import type { NotUndone } from './undo-application.ts'

export interface Application {
  readonly plan: TemplatePlan
  readonly secrets: PreparedHooks['secrets']
}

export interface ApplyOptions {
  /** The digest of the plan that was shown; if missing, the current template is applied. */
  readonly digest?: string | undefined
  readonly onlyNew?: boolean
}

/**
 * Applies a template completely or not at all. Throws the Problems `denied`, `human-only`, `unprocessable`, and
 * `conflict` if the plan has changed or the fleet contains a conflicting object.
 *
 * 1. The plan is computed while the turns of all affected agents are held.
 * 2. Files (permissions, jobs, settings, watchers) are written first, after a row that describes how to restore them.
 * All rows are then written in one transaction, which also deletes that row. After a crash before it, the next start
 * restores the files; after it, everything is applied.
 * 3. Files are restored only where they still contain what was written, so that edits by hand are kept.
 */
export interface ApplyTemplate {
  plan(caller: Caller, template: FleetTemplate): TemplatePlan
  apply(caller: Caller, template: FleetTemplate, options?: ApplyOptions): Promise<Application>
  /**
   * Restores files of unfinished applications as far as possible. Returns how many were restored completely and what
   * is left.
   */
  undoOpen(): Promise<{ readonly undone: number; readonly left: readonly NotUndone[] }>
}

export function createApplyTemplate(deps: ApplyTemplateDeps): ApplyTemplate {
  return {
    plan: (caller, template) => planNow(deps, caller, { template, options: {} }).plan,
    apply: async (caller, template, options = {}) => apply(deps, caller, { template, options }),
    async undoOpen() {
      const undoOne = createUndoApplication(deps)
      const open = deps.applications.open()
      const left: NotUndone[] = []
      for (const one of open) left.push(...(await undoOne(one)))
      return { undone: open.length - deps.applications.open().length, left }
    },
  }
}

async function apply(
  deps: ApplyTemplateDeps,
  caller: Caller,
  { template, options }: { readonly template: FleetTemplate; readonly options: ApplyOptions },
): Promise<Application> {
  const { agents, fileWatches } = deps
  await fileWatches.refresh()
  const before = planNow(deps, caller, { template, options })
  holdPage(caller, before, currentFleet(deps))
  const ids = template.agents.map((agent) => agent.id)
  const application = await agents.write.inTurns(ids, async () => {
    // Waiting for the turns can take time, and another call may have created one of the agents.
    await fileWatches.refresh()
    const again = { ...options, digest: options.digest ?? before.plan.digest }
    const planned = planNow(deps, caller, { template, options: again })
    return { plan: planned.plan, secrets: await carryOut(deps, caller, planned) }
  })
  await agents.refreshBriefings()
  return application
}

function planNow(
  deps: ApplyTemplateDeps,
  caller: Caller,
  { template, options }: { readonly template: FleetTemplate; readonly options: ApplyOptions },
): Planned {
  const current = requireMay(deps, caller, template)
  const hooksByHand = !deps.kernel.decide(caller, { do: 'make-webhooks' }).allowed
  const planned = planTemplate(template, current, { onlyNew: options.onlyNew === true, hooksByHand })
  requireNotRaised(caller, planned, current)
  if (options.digest !== undefined && options.digest !== planned.plan.digest) {
    throw new Problem('conflict', {
      detail: 'the fleet or the template has changed since this plan was made; read the new plan',
    })
  }
  return planned
}

/** The current fleet, for a caller who may apply this template. */
function requireMay(deps: ApplyTemplateDeps, caller: Caller, template: FleetTemplate): CurrentFleet {
  const { guard } = deps.kernel
  guard(caller, { do: 'manage-fleet' })
  requireMayWatch(caller, template)
  if (template.schedules.length > 0) guard(caller, { do: 'manage-cron' })
  if (template.projects.length > 0) guard(caller, { do: 'manage-projects' })
  const current = currentFleet(deps)
  holdTemplate(template, deps.grants, current)
  requireMayGive(caller, template, current)
  requireWholeWatchers(template, deps.fileWatches)
  requireWholeSettings(template, deps.settingsFile)
  deps.agents.write.requireMay(caller, template.agents)
  for (const { when } of template.schedules) if (when !== undefined) deps.jobs.readCondition(when)
  return current
}

/** Throws a Problem if anyone but a person at a terminal would raise the budget of an existing agent. */
function requireNotRaised(caller: Caller, { changed }: Planned, current: CurrentFleet): void {
  if (isAtTerminal(caller)) return
  for (const { id, budget } of changed) {
    const before = current.agent(id)?.record.budget
    const raised = before && budget ? raisedPeriod(before, budget) : null
    if (raised) throw new Problem('human-only', { detail: `agent ${id}: ${raised.field}: ${raised.reason}` })
  }
}

/**
 * Requires the owner's proof for a page if existing agents get more permissions, or any agent gets MCP servers, a
 * watched folder, packages, a larger size or a harness. Throws Problem `proof-wanted`.
 */
function holdPage(caller: Caller, planned: Planned, current: CurrentFleet): void {
  const { created, changed, permissions, settings, watchers } = planned
  if (watchers.length > 0) requireProof(caller, 'watch folders of this machine')
  for (const [id, given] of settings)
    for (const gift of ownerGifts(id, given, current)) requireProof(caller, gift)
  const servers = [...created, ...changed].some((agent) => Object.keys(agent.mcpServers ?? {}).length > 0)
  const raises = changed.some(({ id, budget }) => {
    const before = current.agent(id)?.record.budget
    return before !== undefined && budget !== undefined && raisedPeriod(before, budget) !== null
  })
  const more = changed.some(({ id }) => permissions.has(id) || settings.get(id)?.models !== undefined)
  if (servers || raises || more)
    requireProof(caller, 'give existing agents more permissions, or give any agent MCP servers')
}
