import { Problem } from '@flotilla/protocol/problem'
import type { TemplatePlan } from '@flotilla/protocol/templates-api'
import type { Caller } from '../access/index.ts'
import { isAtTerminal, raisedPeriod, requireProof } from '../access/index.ts'
import type { PreparedHooks } from '../triggers/webhook/index.ts'
import type { ApplyTemplateDeps } from './apply-context.ts'
import { carryOut } from './carry-out.ts'
import { holdTemplate, requireWholeSettings } from './hold-template.ts'
import { requireMayWatch, requireWholeWatchers } from './hold-watchers.ts'
import { planTemplate } from './plan-template.ts'
import type { Planned } from './plan-template.ts'
import { standingFleet } from './standing-fleet.ts'
import type { StandingFleet } from './standing-fleet.ts'
import type { FleetTemplate } from './template-file.ts'
import { createUndoApplication } from './undo-application.ts'
import type { NotUndone } from './undo-application.ts'

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
  return {
    plan: (caller, template) => planNow(deps, caller, { template, asked: {} }).plan,
    apply: async (caller, template, asked = {}) => apply(deps, caller, { template, asked }),
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
  { template, asked }: { readonly template: FleetTemplate; readonly asked: Asked },
): Promise<Application> {
  const { agents, fileWatches } = deps
  await fileWatches.refresh()
  const before = planNow(deps, caller, { template, asked })
  holdPage(caller, before, standingFleet(deps))
  const ids = template.agents.map((agent) => agent.id)
  const application = await agents.write.inTurns(ids, async () => {
    // The turns may have been waited for, and another may have made one of them meanwhile.
    await fileWatches.refresh()
    const again = { ...asked, digest: asked.digest ?? before.plan.digest }
    const planned = planNow(deps, caller, { template, asked: again })
    return { plan: planned.plan, secrets: await carryOut(deps, caller, planned) }
  })
  await agents.refreshBriefings()
  return application
}

function planNow(
  deps: ApplyTemplateDeps,
  caller: Caller,
  { template, asked }: { readonly template: FleetTemplate; readonly asked: Asked },
): Planned {
  const standing = requireMay(deps, caller, template)
  const hooksByHand = !deps.kernel.decide(caller, { do: 'make-webhooks' }).allowed
  const planned = planTemplate(template, standing, { onlyNew: asked.onlyNew === true, hooksByHand })
  requireNotRaised(caller, planned, standing)
  if (asked.digest !== undefined && asked.digest !== planned.plan.digest) {
    throw new Problem('conflict', {
      detail: 'the fleet or the template has changed since this plan was made; look at the new one',
    })
  }
  return planned
}

/** The fleet as it stands, for whoever may have this template applied to it. */
function requireMay(deps: ApplyTemplateDeps, caller: Caller, template: FleetTemplate): StandingFleet {
  const { guard } = deps.kernel
  guard(caller, { do: 'manage-fleet' })
  requireMayWatch(caller, template)
  if (template.schedules.length > 0) guard(caller, { do: 'manage-cron' })
  if (template.projects.length > 0) guard(caller, { do: 'manage-projects' })
  const standing = standingFleet(deps)
  holdTemplate(template, deps.grants, standing)
  requireWholeWatchers(template, deps.fileWatches)
  requireWholeSettings(template, deps.settingsFile)
  deps.agents.write.requireMay(caller, template.agents)
  for (const { when } of template.schedules) if (when !== undefined) deps.jobs.readCondition(when)
  return standing
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
