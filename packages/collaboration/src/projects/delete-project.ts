import { spawnedPrefix } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { CollaborationEvents } from '../events/index.ts'
import { requireProject } from './manage-project.ts'
import type { ManageProjectDeps } from './manage-project.ts'
import type { ReadProjectDeps } from './read-project.ts'

export interface DeleteProjectDeps extends ManageProjectDeps, Pick<ReadProjectDeps, 'budgetOf'> {
  /**
   * Checks the permission and writes the audit log. Deleting a budget lifts its limits, so not everyone may do it.
   */
  readonly dropBudget: (caller: Caller, project: string) => void
  readonly collaborationEvents: Pick<CollaborationEvents, 'projectDeleted'>
}

/**
 * Deletes an archived project and all its data in one transaction: texts, blackboard keys with their earlier
 * versions, topics, budget, and the files that were shared in it. Its members belong to no project afterwards. Tasks,
 * costs and audit log keep its name; a new project of that name does not inherit them. Problems: `denied`,
 * `human-only` if the caller may not delete its budget, `not-found`, `conflict` for a project in use.
 */
export type DeleteProject = (caller: Caller, name: string) => void

export function createDeleteProject(deps: DeleteProjectDeps): DeleteProject {
  const { database, table, agents } = deps
  return (caller, name) => {
    deps.guard(caller, { do: 'manage-projects', project: name })
    if (caller.kind === 'agent') throw new Problem('denied', { detail: 'only people may delete projects' })
    database.transaction(() => {
      const row = requireProject(table, name)
      if (row.archived_at === null) {
        throw new Problem('conflict', {
          detail: `project ${name} is not archived, and only archived projects can be deleted`,
          repair: `Archive the project first: flotilla projects archive ${name}`,
        })
      }
      const members = agents.list().filter(({ project }) => project === name)
      // Spawned agents follow their parents into another project, or out of all.
      for (const { id } of members) {
        if (!id.startsWith(spawnedPrefix)) deps.setAgentProject(caller, id, null)
      }
      const { daily_usd: daily, monthly_usd: monthly } = deps.budgetOf(name)
      if (daily !== null || monthly !== null) deps.dropBudget(caller, name)
      deps.collaborationEvents.projectDeleted.publish(name)
      table.remove(name)
      const actor = actorOf(caller)
      deps.journal.append({
        actor,
        action: 'project.deleted',
        subject: name,
        detail: { members: members.map(({ id }) => id) },
      })
      deps.events.publish({ type: 'project.changed', project: name, action: 'deleted', actor })
    })
  }
}
