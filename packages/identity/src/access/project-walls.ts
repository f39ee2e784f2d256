import { operatorAgentId } from '@flotilla/protocol/ids'
import type { Decision } from './action.ts'
import { denied } from './field-decisions.ts'

/** The project to which an agent belongs, according to the mesh's database. */
export interface Membership {
  readonly name: string
  /** True for an archived project: its data can be read, but no data is added. */
  readonly archived: boolean
}

/** The project of an agent; null if the agent belongs to none. */
export type ProjectOf = (agentId: string) => Membership | null

const prefix = 'projects/'

/** The project that a key or topic belongs to; null if it belongs to none. Pure. */
export function projectOfName(name: string): string | null {
  if (!name.startsWith(prefix)) return null
  const project = name.slice(prefix.length).split('/', 1)[0] ?? ''
  return project === '' ? null : project
}

/**
 * Decides access to a project's keys and topics by membership alone, whatever patterns a record has: members
 * may, others may not. Null for names outside of projects, and for the operator, which works for all
 * projects; then the record decides. Pure.
 */
export function decideInProject(
  projectOf: ProjectOf,
  agentId: string,
  { name, writes }: { readonly name: string; readonly writes: boolean },
): Decision | null {
  const project = projectOfName(name)
  if (project === null || agentId === operatorAgentId) return null
  const own = projectOf(agentId)
  if (own?.name !== project) {
    return denied(
      `${prefix}${project}/ belongs to the members of project ${project}, and ${agentId} is not a member`,
      null,
    )
  }
  if (writes && own.archived)
    return denied(`project ${project} is archived: its data can be read but not changed`, null)
  return { allowed: true }
}

/** Denies work between different projects and in an archived one; null if the permission records decide. Pure. */
export function decideAcrossProjects(projectOf: ProjectOf, agentId: string, to: string): Decision | null {
  if (agentId === operatorAgentId || to === operatorAgentId) return null
  const [own, other] = [projectOf(agentId), projectOf(to)]
  if (own === null || other === null) return null
  if (own.name === other.name) {
    return own.archived
      ? denied(`project ${own.name} is archived: its members cannot give each other work`, null)
      : null
  }
  return denied(
    `agent ${to} belongs to project ${other.name} and agent ${agentId} to project ${own.name}; members of different projects cannot exchange work`,
    null,
  )
}

/** Denies managing a project to agents other than its members and the operator; null if the record decides. Pure. */
export function decideManaged(
  projectOf: ProjectOf,
  agentId: string,
  project: string | undefined,
): Decision | null {
  if (project === undefined || agentId === operatorAgentId || projectOf(agentId)?.name === project)
    return null
  return denied(
    `agent ${agentId} is not a member of project ${project}; only the operator manages all projects`,
    null,
  )
}
