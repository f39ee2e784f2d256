import type { ProjectSummary, ProjectView } from '@flotilla/protocol/project-api'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { Action, Caller, Decision, Guard } from '@flotilla/identity/access'
import type { ProjectAgents } from './manage-project.ts'
import { noSuchProject } from './project-table.ts'
import type { ProjectRow, ProjectTable } from './project-table.ts'

/** How many tasks of each kind a view lists. */
const namedMax = 5

interface ProjectTask {
  readonly id: string
  readonly title: string
  readonly summary: string | null
}

export interface ReadProjectDeps {
  readonly table: ProjectTable
  readonly agents: ProjectAgents
  readonly tasks: {
    /** Counts the tasks created at or after `since` (milliseconds since 1970), by state. */
    countsOf(project: string, since: number): Readonly<Record<string, number>>
    /** Lists tasks, newest first. */
    ofProject(page: { project: string; since: number; state: string; limit: number }): readonly ProjectTask[]
  }
  readonly budgetOf: (project: string) => ProjectView['budget']
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
}

/** People and the operator see all projects; an agent sees only its own. Problem `not-found` for other projects. */
export function createReadProjects(deps: ReadProjectDeps) {
  const { table, agents } = deps

  function sees(caller: Caller, name: string): boolean {
    if (caller.kind !== 'agent') return true
    if (agents.find(caller.agentId)?.project === name) return true
    return (
      caller.agentId === operatorAgentId &&
      deps.decide(caller, { do: 'manage-projects', project: name }).allowed
    )
  }

  function guard(caller: Caller): void {
    if (caller.kind === 'agent') deps.guard(caller, { do: 'act-for-self', agentId: caller.agentId })
    else deps.guard(caller, { do: 'view-fleet' })
  }

  const membersOf = (name: string) => agents.list().filter(({ project }) => project === name)

  function summary(row: ProjectRow): ProjectSummary {
    return {
      name: row.name,
      goal: row.goal,
      members: membersOf(row.name).map(({ id }) => id),
      archived_at: row.archived_at,
      tasks: { ...deps.tasks.countsOf(row.name, row.created_at) },
      updated_at: row.updated_at,
    }
  }

  /** Tasks older than the project belong to a deleted project of the same name and are omitted. */
  const named = ({ name: project, created_at: since }: ProjectRow, state: string) =>
    deps.tasks.ofProject({ project, since, state, limit: namedMax }).map(({ id, title, summary: text }) => ({
      id,
      title,
      summary: (text ?? '').slice(0, 500),
    }))

  return {
    list: (caller: Caller): readonly ProjectSummary[] => {
      guard(caller)
      return table
        .list()
        .filter(({ name }) => sees(caller, name))
        .map(summary)
    },
    /** Problems `denied`, `not-found`. */
    one: (caller: Caller, name: string): ProjectView => {
      guard(caller)
      const row = sees(caller, name) ? table.find(name) : null
      if (!row) {
        const names = table.list().map((one) => one.name)
        throw noSuchProject(
          name,
          names.filter((one) => sees(caller, one)),
        )
      }
      return {
        ...summary(row),
        criteria: row.criteria,
        goal_version: row.goal_version,
        sections: [...table.sections(name)],
        blocked: named(row, 'blocked'),
        done: named(row, 'done'),
        budget: deps.budgetOf(name),
      }
    },
    membersOf,
  }
}
