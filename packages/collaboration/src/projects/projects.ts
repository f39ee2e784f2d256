import type { ManagedProject, ProjectView } from '@flotilla/protocol/project-api'
import { projectNameSchema } from '@flotilla/protocol/money-api'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '@flotilla/identity/access'
import {
  createManageProject,
  createWriteProject,
  ensureProject,
  requireInUse,
  requireProject,
} from './manage-project.ts'
import type { ManageProjectDeps, WriteProjectInput } from './manage-project.ts'
import { createDeleteProject } from './delete-project.ts'
import type { DeleteProjectDeps } from './delete-project.ts'
import { createProjectTable } from './project-table.ts'
import { createProjectTexts } from './project-texts.ts'
import { createReadProjects } from './read-project.ts'
import type { ReadProjectDeps } from './read-project.ts'
import type { CollaborationKernel } from '../events/index.ts'
import { oneLine } from '@flotilla/protocol/one-line'
import { joinPromptText, sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { ProjectRow, SectionRow } from './project-table.ts'

export type Projects = ReturnType<typeof createProjects>

export type ProjectsDeps = Omit<ManageProjectDeps, 'table'> &
  Omit<ReadProjectDeps, 'table'> &
  Pick<DeleteProjectDeps, 'dropBudget'> &
  Pick<CollaborationKernel, 'identityEvents' | 'fleetEvents' | 'workEvents' | 'collaborationEvents'> & {
    /** Called after a commit, so that members read the current state of their project. */
    readonly refreshBriefings: () => void
  }

/** Manages projects: a goal, its members, and data that only they can access. */
export function createProjects(given: ProjectsDeps) {
  const { database, fleetEvents, identityEvents, workEvents, agents } = given
  const table = createProjectTable(database)
  const deps = { ...given, table }
  const read = createReadProjects(deps)
  const manage = createManageProject(deps)
  const write = createWriteProject(deps)
  const remove = createDeleteProject(deps)
  const texts = createProjectTexts({ ...deps, write })

  identityEvents.projectOf.subscribe((agentId) => {
    const name = agents.find(agentId)?.project ?? null
    return name === null ? [] : [{ name, archived: table.isArchived(name) }]
  })
  workEvents.projectsSince.subscribe((name) => {
    const row = table.find(name)
    return row ? [row.created_at] : []
  })
  fleetEvents.projectTexts.subscribe((agentId) => {
    const name = agents.find(agentId)?.project ?? null
    const row = name === null ? null : table.find(name)
    if (!row) return []
    return [projectText({ row, sections: table.sections(row.name), members: read.membersOf(row.name) })]
  })
  fleetEvents.membershipChanged.subscribe(({ project }) => {
    if (project !== null) {
      // The project is created when an agent first joins a project of this name.
      ensureProject(deps, project)
      requireInUse(requireProject(table, project))
    }
    database.afterCommit(given.refreshBriefings)
  })

  return {
    list: read.list,
    one: read.one,
    textsOf: texts.textsOf,
    give: texts.give,
    manage: (caller: Caller, name: string, change: Parameters<typeof manage>[2]): ManagedProject => {
      requireName(name)
      const moved = manage(caller, name, change)
      database.afterCommit(given.refreshBriefings)
      return { ...read.one(caller, name), moved }
    },
    delete: (caller: Caller, name: string): void => {
      remove(caller, name)
      database.afterCommit(given.refreshBriefings)
    },
    write: (caller: Caller, name: string, input: WriteProjectInput): ProjectView => {
      write(caller, name, input)
      database.afterCommit(given.refreshBriefings)
      return read.one(caller, name)
    },
  }
}

/** Throws the problem `bad-request` for an invalid name. */
function requireName(name: string): void {
  if (projectNameSchema.safeParse(name).success) return
  throw new Problem('bad-request', { detail: 'a project is 1 to 64 of a-z 0-9 _ -' })
}

/** Longest criterion and longest role of a member in PROJECT.md, in characters. */
const lineMaxChars = 200

/**
 * Renders PROJECT.md, which each member reads. The same rows give the same bytes, so that the provider's prompt cache
 * stays valid. Only the whole prompt has a limit. Pure.
 */
function projectText(project: {
  readonly row: ProjectRow
  readonly sections: readonly SectionRow[]
  readonly members: readonly { readonly id: string; readonly role: string }[]
}): PromptText {
  const { row, sections, members } = project
  const parts = [
    `# Project ${row.name}`,
    ...(row.archived_at === null ? [] : ['This project is archived: its data can be read but not changed.']),
    ...(row.goal === '' ? [] : [`## Goal\n\n${row.goal}`]),
    ...(row.criteria.length === 0
      ? []
      : [`It is reached when:\n${row.criteria.map((one) => `- ${oneLine(one, lineMaxChars)}`).join('\n')}`]),
    ...sections.map(({ name, text }) => `## ${name}\n\n${text}`),
    `## Members\n\n${members.map(({ id, role }) => `- \`${id}\`: ${oneLine(role, lineMaxChars)}`).join('\n')}`,
    `## What members share\n\nOnly members of this project can use blackboard keys and topics that begin with \`projects/${row.name}/\`, and every member can. All members, and only they, can read files saved with \`shared\`.`,
  ]
  return joinPromptText(parts.map(sanitizeForPrompt), '\n\n')
}
