import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { projectLimits } from '@flotilla/protocol/project-limits'
import type { ManagedProject } from '@flotilla/protocol/project-api'
import type { ManageProjectAction } from '@flotilla/protocol/project-limits'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Database } from '@flotilla/foundation/storage'
import { noSuchProject } from './project-table.ts'
import type { ProjectRow, ProjectTable } from './project-table.ts'

interface ProjectAgent {
  readonly id: string
  readonly role: string
  readonly project: string | null
}

export interface ProjectAgents {
  find(agentId: string): ProjectAgent | null
  /** Problem `unknown-agent`. */
  require(agentId: string): ProjectAgent
  list(): readonly ProjectAgent[]
}

export interface ManageProjectDeps {
  readonly database: Database
  readonly table: ProjectTable
  readonly agents: ProjectAgents
  /**
   * Checks the permission, writes the audit log, and keeps the agent within the budget of the project that it leaves.
   */
  readonly setAgentProject: (caller: Caller, agentId: string, project: string | null) => void
  readonly guard: Guard
  readonly journal: Journal
  readonly events: EventBus
  readonly clock: Clock
}

/**
 * Creates, archives and restores a project, and changes its members. Repeating a call changes nothing. Returns the
 * agents that moved in from another project.
 * Problems: `denied`, `human-only` for a member that a budget limits, `not-found`, `unknown-agent`, `conflict` for a
 * change of an archived project, `unprocessable` at a limit.
 */
export type ManageProject = (
  caller: Caller,
  name: string,
  change: { readonly action: ManageProjectAction; readonly agents: readonly string[] },
) => ManagedProject['moved']

export function createManageProject(deps: ManageProjectDeps): ManageProject {
  const { database, table } = deps
  return (caller, name, { action, agents }) => {
    deps.guard(caller, { do: 'manage-projects', project: name })
    return database.transaction(() => {
      switch (action) {
        case 'create':
          create(deps, caller, name)
          return addMembers(deps, caller, { name, agents })
        case 'archive':
        case 'unarchive':
          archive(deps, caller, { row: requireProject(table, name), action })
          return []
        case 'add_members':
          return addMembers(deps, caller, { name, agents })
        case 'remove_members':
          requireInUse(requireProject(table, name))
          for (const agentId of agents) {
            if (deps.agents.require(agentId).project === name) deps.setAgentProject(caller, agentId, null)
          }
          return []
      }
    })
  }
}

function create(deps: ManageProjectDeps, caller: Caller, name: string): void {
  if (!deps.table.find(name)) ensureProject(deps, name)
  else return
  recordChange(deps, caller, { name, action: 'created' })
}

/** Creates the row if it does not exist. Joins the caller's transaction. Problem `unprocessable` at the limit. */
export function ensureProject(deps: Pick<ManageProjectDeps, 'table' | 'clock'>, name: string): void {
  if (deps.table.find(name)) return
  if (deps.table.count() >= projectLimits.projectsMax) {
    throw new Problem('unprocessable', {
      detail: `a fleet may have at most ${projectLimits.projectsMax} projects`,
    })
  }
  deps.table.insert(name, deps.clock.now())
}

function addMembers(
  deps: ManageProjectDeps,
  caller: Caller,
  { name, agents }: { readonly name: string; readonly agents: readonly string[] },
): ManagedProject['moved'] {
  requireInUse(requireProject(deps.table, name))
  const before = deps.agents.list().map(({ id, project }) => ({ id, project }))
  const members = before.filter(({ project }) => project === name).length
  if (members + agents.length > projectLimits.membersMax) {
    throw new Problem('unprocessable', {
      detail: `a project may have at most ${projectLimits.membersMax} members`,
    })
  }
  for (const agentId of agents) {
    if (deps.agents.require(agentId).project !== name) deps.setAgentProject(caller, agentId, name)
  }
  // The result includes spawned agents, which move with their parents although the caller did not name them.
  return before.flatMap(({ id, project: from }) => {
    const isMoved = from !== null && from !== name && deps.agents.find(id)?.project === name
    return isMoved ? [{ agent: id, from }] : []
  })
}

function archive(
  deps: ManageProjectDeps,
  caller: Caller,
  { row, action }: { readonly row: ProjectRow; readonly action: 'archive' | 'unarchive' },
): void {
  if ((row.archived_at !== null) === (action === 'archive')) return
  const now = deps.clock.now()
  deps.table.setArchived(row.name, action === 'archive' ? now : null, now)
  recordChange(deps, caller, { name: row.name, action: `${action}d` })
}

export interface WriteProjectInput {
  /** Undefined for the goal. */
  readonly section?: string | undefined
  readonly text: string
  readonly criteria?: readonly string[] | undefined
  readonly expectedVersion: number
}

/**
 * Writes the goal or one section if the version is the one that was read, so that two writers cannot overwrite each
 * other unseen. Problems: `denied`, `not-found`, `version-conflict` with the current text, `conflict` for an archived
 * project, `bad-request`, `unprocessable` at a limit.
 */
export type WriteProject = (caller: Caller, name: string, input: WriteProjectInput) => void

export function createWriteProject(deps: ManageProjectDeps): WriteProject {
  const { database, table } = deps
  return (caller, name, { section, text, criteria, expectedVersion: expected }) => {
    deps.guard(caller, { do: 'manage-projects', project: name })
    const goalText = sanitizeForPrompt(text).trim()
    database.transaction(() => {
      const row = requireProject(table, name)
      requireInUse(row)
      const mark = { by: actorOf(caller), at: deps.clock.now() }
      if (section === undefined) {
        if (goalText.length > projectLimits.goalMaxChars) {
          throw new Problem('bad-request', {
            detail: `text: a goal may have at most ${projectLimits.goalMaxChars} characters`,
          })
        }
        const goal = { text: goalText, criteria: (criteria ?? row.criteria).map(sanitizeForPrompt), expected }
        if (!table.writeGoal(name, goal, mark.at))
          throw overtaken('the goal', { version: row.goal_version, text: row.goal })
      } else {
        if (criteria !== undefined)
          throw new Problem('bad-request', {
            detail: 'criteria: only the goal of a project has criteria, a section has none',
          })
        writeSection(table, name, { section, words: goalText, expected, mark })
      }
      recordChange(deps, caller, { name, action: 'written', section: section ?? 'goal' })
    })
  }
}

function writeSection(
  table: ProjectTable,
  name: string,
  {
    section,
    words: text,
    expected,
    mark,
  }: { section: string; words: string; expected: number; mark: { by: string; at: number } },
): void {
  const before = table.section(name, section)
  const isNew = before === null || before.text === ''
  if (isNew && text !== '' && table.sections(name).length >= projectLimits.sectionsMax) {
    throw new Problem('unprocessable', {
      detail: `a project may have at most ${projectLimits.sectionsMax} sections`,
    })
  }
  if (isNew && text === '')
    throw new Problem('not-found', { detail: `the project has no section ${section}` })
  if (table.writeSection(name, { name: section, text, expected }, mark)) return
  throw overtaken(`section ${section}`, {
    version: before?.version ?? 0,
    text: before?.text ?? '',
    by: before?.updated_by,
  })
}

/** How much of the current text a conflict quotes, in characters. */
const shownMaxChars = 2000

/** Returns the problem `version-conflict` with the current text, so that the rejected writer can merge both texts. */
function overtaken(
  what: string,
  {
    version,
    text,
    by,
  }: { readonly version: number; readonly text: string; readonly by?: string | undefined },
): Problem {
  const writer = by === undefined ? '' : `, written by ${by}`
  return new Problem('version-conflict', {
    detail: `${what} is at version ${version}${writer}. Merge your text with the current one, and write it over version ${version}. The current text: ${text.slice(0, shownMaxChars)}`,
  })
}

/** Returns the project's row. Throws the problem `not-found`. */
export function requireProject(table: ProjectTable, name: string): ProjectRow {
  const row = table.find(name)
  if (!row) throw noSuchProject(name)
  return row
}

/** Throws the problem `conflict` for an archived project. */
export function requireInUse(row: ProjectRow): void {
  if (row.archived_at === null) return
  throw new Problem('conflict', {
    detail: `project ${row.name} is archived; unarchive it first: flotilla projects unarchive NAME`,
  })
}

function recordChange(
  { journal, events }: ManageProjectDeps,
  caller: Caller,
  { name, action, section }: { readonly name: string; readonly action: string; readonly section?: string },
): void {
  const actor = actorOf(caller)
  const detail = section === undefined ? {} : { section }
  journal.append({ actor, action: `project.${action}`, subject: name, detail })
  events.publish({ type: 'project.changed', project: name, action, actor })
}
