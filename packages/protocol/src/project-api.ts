import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema, taskIdSchema } from './ids.ts'
import { projectNameSchema } from './money-api.ts'
import { manageProjectActions, projectLimits } from './project-limits.ts'

/** Methods and summaries that both APIs share. The guard decides which callers may use an endpoint. */
const [list, one, manage, write] = [
  { method: 'GET', summary: 'List the projects that the caller may see.' },
  { method: 'GET', summary: 'Return one project with its texts, members and tasks.' },
  { method: 'POST', summary: 'Create, archive or restore a project, or change its members.' },
  {
    method: 'PUT',
    summary: 'Write the goal or a section of a project, if it is still the version that was read.',
  },
] as const

export const projectAgentEndpoints = {
  projects: { ...list, path: '/mesh/projects' },
  project: { ...one, path: '/mesh/projects/{name}' },
  projectManage: { ...manage, path: '/mesh/projects/{name}/manage' },
  projectWrite: { ...write, path: '/mesh/projects/{name}/text' },
} as const satisfies Record<string, Endpoint>

export const projectHumanEndpoints = {
  projects: { ...list, path: '/api/projects' },
  project: { ...one, path: '/api/projects/{name}' },
  projectManage: { ...manage, path: '/api/projects/{name}/manage' },
  projectWrite: { ...write, path: '/api/projects/{name}/text' },
  projectDelete: {
    method: 'DELETE',
    path: '/api/projects/{name}',
    summary: 'Delete an archived project with everything that only it used.',
  },
} as const satisfies Record<string, Endpoint>

export const sectionNameSchema = z
  .string()
  .check(
    z.regex(
      /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,63}$/u,
      'a section has a name of 1 to 64 letters, digits, spaces and _ . -',
    ),
  )

export const projectSummarySchema = z.strictObject({
  name: projectNameSchema,
  goal: z.string(),
  members: z.array(agentIdSchema),
  /** Milliseconds since 1970; null while it is in use. */
  archived_at: z.nullable(z.number()),
  /** Tasks by state. */
  tasks: z.record(z.string(), z.int()),
  updated_at: z.number(),
})

const textMarks = {
  version: z.int(),
  updated_by: z.string(),
  updated_at: z.number(),
}

export const projectViewSchema = z.strictObject({
  ...projectSummarySchema.shape,
  criteria: z.array(z.string()),
  /** The version of goal and criteria together; 0 until they are written. */
  goal_version: z.int(),
  sections: z.array(z.strictObject({ name: z.string(), text: z.string(), ...textMarks })),
  /** Open tasks that are blocked, newest first. */
  blocked: z.array(z.strictObject({ id: taskIdSchema, title: z.string(), summary: z.string() })),
  /** The tasks completed last, newest first. */
  done: z.array(z.strictObject({ id: taskIdSchema, title: z.string(), summary: z.string() })),
  budget: z.strictObject({
    daily_usd: z.nullable(z.number()),
    monthly_usd: z.nullable(z.number()),
    today_usd: z.number(),
    month_usd: z.number(),
  }),
})
export type ProjectView = z.infer<typeof projectViewSchema>
export type ProjectSummary = z.infer<typeof projectSummarySchema>

/** The current project, and the agents that the change moved from other projects. */
export const managedProjectSchema = z.strictObject({
  ...projectViewSchema.shape,
  /** Agents that left another project, and which one, because an agent is in one project at most. */
  moved: z.array(z.strictObject({ agent: agentIdSchema, from: projectNameSchema })),
})
export type ManagedProject = z.infer<typeof managedProjectSchema>

export const manageProjectSchema = z.strictObject({
  action: z.enum(manageProjectActions),
  /** The agents that join or leave the project. */
  agents: z._default(z.array(agentIdSchema).check(z.maxLength(projectLimits.membersMax)), []),
})

export const writeProjectSchema = z.strictObject({
  /** The goal if omitted. */
  section: z.optional(sectionNameSchema),
  /** An empty text deletes the section. */
  text: z.string().check(z.maxLength(projectLimits.sectionMaxChars)),
  /** Criteria of the goal. If omitted, they stay unchanged. */
  criteria: z.optional(
    z
      .array(z.string().check(z.minLength(1), z.maxLength(projectLimits.criterionMaxChars)))
      .check(z.maxLength(projectLimits.criteriaMax)),
  ),
  /** The version that was read; 0 for a new text. Another writer's text is never overwritten unseen. */
  expected_version: z.int().check(z.minimum(0)),
})

const schemas = {
  projects: { response: z.strictObject({ projects: z.array(projectSummarySchema) }) },
  project: { response: projectViewSchema },
  projectManage: { request: manageProjectSchema, response: managedProjectSchema },
  projectWrite: { request: writeProjectSchema, response: projectViewSchema },
} as const
export const projectAgentApi = schemas satisfies Record<keyof typeof projectAgentEndpoints, EndpointSchemas>
export const projectHumanApi = {
  ...schemas,
  projectDelete: { response: z.strictObject({ deleted: projectNameSchema }) },
} as const satisfies Record<keyof typeof projectHumanEndpoints, EndpointSchemas>
