import { operatorAgentId } from '@flotilla/protocol/ids'
import { templateLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { LeftOut } from '@flotilla/protocol/templates-api'
import { stringify } from 'yaml'
import type { Caller, Guard, PermissionGrants } from '@flotilla/identity/access'
import { raisedPeriod, workerDefaultRecord } from '@flotilla/identity/access'
import { defaultBudget } from '@flotilla/fleet/agents'
import type { AgentSettings } from '@flotilla/foundation/config'
import { scheduleFields, currentFleet } from './current-fleet.ts'
import type { CurrentAgent, CurrentFleetDeps } from './current-fleet.ts'
import { aboveSettings } from './hold-template.ts'
import { parseTemplate } from './template-file.ts'

export interface ExportedFleet {
  readonly text: string
  readonly leftOut: readonly LeftOut[]
}

/**
 * Exports the workers as a template that recreates them in an empty home: permissions, budgets, texts, settings,
 * files, webhooks, schedules, watches, file watchers, and goal, texts and budgets of their projects. What a template
 * cannot grant is left out and listed with the command that sets it, because templates have the operator's ceiling.
 * Secrets, data, history and the operator's own settings are not exported. Throws the Problems `denied`,
 * `unknown-agent` and `unprocessable`.
 */
export type ExportFleet = (
  caller: Caller,
  request: { readonly name: string; readonly agents: readonly string[] | null },
) => ExportedFleet

export interface ExportFleetDeps extends CurrentFleetDeps {
  readonly guard: Guard
  readonly grants: Pick<PermissionGrants, 'aboveOperatorCeiling'>
}

export function createExportFleet(deps: ExportFleetDeps): ExportFleet {
  return (caller, { name, agents: requestedIds }) => {
    deps.guard(caller, { do: 'manage-fleet' })
    const current = currentFleet(deps)
    const leftOut: LeftOut[] = []
    const ids = (requestedIds ?? deps.agents.list().map(({ id }) => id)).filter(
      (id) => id !== operatorAgentId,
    )
    const workers = ids.flatMap((id) => {
      const agent = current.agent(deps.agents.require(id).id)
      if (agent && !deps.agents.isArchived(id)) return [agent]
      leftOut.push({ what: `agent ${id}`, why: 'it is archived', command: `flotilla unarchive ${id}` })
      return []
    })
    if (workers.length === 0) throw new Problem('unprocessable', { detail: 'the fleet has no worker' })
    if (workers.length > templateLimits.agentsMax) {
      throw new Problem('unprocessable', {
        detail: `a template may have at most ${templateLimits.agentsMax} agents; name the agents to export`,
      })
    }
    const projects = [...new Set(workers.flatMap(({ record }) => record.project ?? []))].toSorted()
    const text = stringify(
      {
        name,
        description: `Workers of a fleet: ${workers.map(({ record }) => record.id).join(', ')}.`.slice(
          0,
          2000,
        ),
        ...unlessEmpty(
          'projects',
          projects.flatMap((project) => projectOf(project)),
        ),
        agents: workers.map((worker) => agentOf(worker)),
        ...unlessEmpty(
          'webhooks',
          workers.flatMap((worker) => hooksOf(worker)),
        ),
        ...unlessEmpty(
          'schedules',
          workers.flatMap((worker) => schedulesOf(worker)),
        ),
        ...unlessEmpty(
          'watches',
          workers.flatMap((worker) => watchesOf(worker)),
        ),
        ...unlessEmpty(
          'watchers',
          workers.flatMap((worker) => watchersOf(worker)),
        ),
      },
      // Texts are written as block literals, which people and version control can read.
      { lineWidth: 110, aliasDuplicateObjects: false, blockQuote: 'literal' },
    )
    reportBroken()
    // The export is verified by parsing it.
    parseTemplate(name, text)
    return { text, leftOut }

    function projectOf(project: string) {
      const { dailyUsd, monthlyUsd } = current.projectLimits(project)
      const { goal = '', criteria = [], sections = {} } = current.projectTexts(project) ?? {}
      const texts = {
        ...(goal === '' ? {} : { goal }),
        ...unlessEmpty('criteria', criteria),
        ...unlessEmpty('sections', sections),
      }
      if (dailyUsd === null && monthlyUsd === null && Object.keys(texts).length === 0) return []
      return [{ name: project, daily_usd: dailyUsd, monthly_usd: monthlyUsd, ...texts }]
    }

    function agentOf(worker: CurrentAgent) {
      const { record, heartbeat, mcpServers, files } = worker
      const skills = Object.entries(files).filter(([path]) => skillPath.test(path))
      const others = Object.entries(files).filter(([path]) => !skillPath.test(path))
      return {
        id: record.id,
        role: record.role,
        ...(record.model === null ? {} : { model: record.model }),
        instructions: record.instructions,
        ...unlessEmpty('permissions', permissionsOf(worker)),
        ...(record.project === null ? {} : { project: record.project }),
        ...unlessEmpty('mcpServers', mcpServers),
        ...(heartbeat?.enabled === true ? { heartbeat: heartbeat.schedule } : {}),
        ...budgetOf(worker),
        ...unlessEmpty('settings', settingsOf(worker)),
        ...unlessEmpty('skills', Object.fromEntries(skills.map(([path, text]) => [path.slice(7), text]))),
        ...unlessEmpty('files', Object.fromEntries(others)),
      }
    }

    function permissionsOf({ record, permissions }: CurrentAgent) {
      const given = Object.entries(permissions).filter(
        ([field, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(workerDefaultRecord, field)),
      )
      return Object.fromEntries(
        given.filter(([field, value]) => {
          const above = deps.grants.aboveOperatorCeiling({ [field]: value })
          if (above === null) return true
          const shown = Array.isArray(value) ? `'${value.join(',')}'` : String(value)
          leftOut.push({
            what: `agent ${record.id}, ${field}`,
            why: above,
            command: `flotilla permissions set ${record.id} ${field}=${shown}`,
          })
          return false
        }),
      )
    }

    /** Returns the settings that differ from those of a new agent. Fields are exported unchanged or not at all. */
    function settingsOf({ record: { id } }: CurrentAgent): AgentSettings {
      const fresh = {
        settingsOf: () => ({}),
        dataLimitMb: () => deps.settingsFile.current().data_limit_mb,
        isolation: () => ({ rung: 'container', mode: 'preferred' }) as const,
      }
      const granted = Object.entries(current.settingsOf(id)).filter(([field, value]) => {
        const above = aboveSettings({ id, settings: { [field]: value } }, fresh)
        if (above !== null)
          leftOut.push({ what: `agent ${id}, settings.${above.field}`, why: above.reason, command: null })
        return above === null
      })
      return Object.fromEntries(granted)
    }

    function budgetOf({ record: { id, budget } }: CurrentAgent) {
      const isDefault =
        budget.dailyUsd === defaultBudget.dailyUsd && budget.monthlyUsd === defaultBudget.monthlyUsd
      if (isDefault) return {}
      const raised = raisedPeriod(defaultBudget, budget)
      if (raised === null) return { budget: { daily_usd: budget.dailyUsd, monthly_usd: budget.monthlyUsd } }
      leftOut.push({
        what: `agent ${id}, budget`,
        why: raised.reason,
        command: `flotilla budget ${id} --daily ${budget.dailyUsd} --monthly ${budget.monthlyUsd}`,
      })
      return {}
    }

    function hooksOf({ record: { id } }: CurrentAgent) {
      const names = new Set<string>()
      return current.hooksOf(id).flatMap((hook) => {
        if (names.has(hook.name)) {
          const why = `a template identifies the webhooks of an agent by name, and ${hook.name} is used twice`
          leftOut.push({ what: `agent ${id}, webhook ${hook.id}`, why, command: null })
          return []
        }
        names.add(hook.name)
        if (!hook.enabled) {
          leftOut.push({ what: `agent ${id}, webhook ${hook.name}`, why: 'disabled here', command: null })
          return []
        }
        return [
          {
            name: hook.name,
            agent: id,
            ...(hook.instructions === '' ? {} : { instructions: hook.instructions }),
            ...(hook.when === null ? {} : { when: hook.when }),
            ...(hook.perMinute === null ? {} : { per_minute: hook.perMinute }),
            ...(hook.secretNumber === null ? { signed: false } : {}),
            ...(hook.repeats === 'refuse' ? {} : { repeats: hook.repeats }),
          },
        ]
      })
    }

    function watchesOf({ record: { id } }: CurrentAgent) {
      return [...current.watchesOf(id)].map(([pattern, tell]) => ({ agent: id, pattern, tell }))
    }

    /** Returns an agent's watchers as in the file. A machine without their folder gets a warning in its plan. */
    function watchersOf({ record: { id } }: CurrentAgent) {
      return current.watchers().filter(({ agent }) => agent === id)
    }

    function reportBroken(): void {
      for (const [what, broken] of [
        ['file watchers', deps.fileWatches.broken()],
        ['settings of agents', deps.settingsFile.broken()],
      ] as const) {
        if (broken === null) continue
        const why = `${broken}; the export contains the values that are in force`
        leftOut.push({ what: `${what}, from their file`, why, command: null })
      }
    }

    function schedulesOf({ record: { id } }: CurrentAgent) {
      return current.jobsOf(id).map((job) => ({ id: job.id, agent: id, ...scheduleFields(job) }))
    }
  }
}

const skillPath = /^skills\/[a-z][a-z0-9_-]{0,59}\.[jt]s$/

function unlessEmpty<Key extends string>(key: Key, value: object): { readonly [Name in Key]?: object } {
  // The object has this one key.
  return Object.keys(value).length === 0 ? {} : ({ [key]: value } as { readonly [Name in Key]?: object })
}
