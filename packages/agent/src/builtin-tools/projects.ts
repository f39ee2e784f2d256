import { projectAgentEndpoints as endpoints } from '@flotilla/protocol/project-api'
import { manageProjectActions, manageProjectWords, projectLimits } from '@flotilla/protocol/project-limits'
import { choice, integer, optional, text, textList, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const name = text('Name of the project', { minChars: 1, maxChars: 64 })

/** Tools for what the members of a project share. */
export function projectTools(): Tool[] {
  return [inspectProjects, manageProject, writeProject]
}

const inspectProjects = defineTool({
  name: 'inspect_projects',
  description:
    'Shows your project, or the projects that you manage. Without a name it lists all of them; with a name it shows goal, texts with versions, members, tasks and budget.',
  parameters: { name: optional(name) },
  effect: 'none',
  parallelSafe: true,
  timeoutMs: meshToolTimeoutMs,
  run: async ({ name: named }, { mesh, signal }) =>
    succeeded(
      await mesh.call(
        named === undefined
          ? { endpoint: endpoints.projects, signal }
          : { endpoint: endpoints.project, params: { name: named }, signal },
      ),
    ),
})

const manageProject = defineTool({
  name: 'manage_project',
  description: `Changes a project. ${manageProjectActions
    .map((action) => `${action}: ${manageProjectWords[action]}`)
    .join('; ')}.`,
  parameters: {
    name,
    action: choice('What is done', manageProjectActions),
    agents: withDefault(
      textList('Ids of the agents to add or remove', {
        maxItems: projectLimits.membersMax,
        maxChars: 64,
      }),
      [],
    ),
  },
  effect: 'mesh',
  timeoutMs: meshToolTimeoutMs,
  run: async ({ name: id, ...body }, { mesh, signal, idempotencyKey }) => {
    const params = { name: id }
    return succeeded(
      await mesh.call({ endpoint: endpoints.projectManage, params, body, signal, idempotencyKey }),
    )
  },
})

const writeProject = defineTool({
  name: 'write_project',
  description:
    'Writes the goal or one section of a project, which each member reads in its PROJECT.md. Read it first: if another agent has changed the text meanwhile, it is not overwritten and you get the new text instead.',
  parameters: {
    name,
    section: optional(text('Heading of the section; without it the goal is written', { maxChars: 64 })),
    text: text('The whole new text; an empty text removes a section', {
      maxChars: projectLimits.sectionMaxChars,
    }),
    criteria: optional(
      textList('For the goal: how to see that it is reached. Without it, the present criteria stay', {
        maxItems: projectLimits.criteriaMax,
        maxChars: projectLimits.criterionMaxChars,
      }),
    ),
    expected_version: integer('The version that you read; 0 for a new text', { min: 0, max: 1e15 }),
  },
  effect: 'mesh',
  timeoutMs: meshToolTimeoutMs,
  run: async ({ name: id, section, criteria, ...rest }, { mesh, signal, idempotencyKey }) => {
    const body = {
      ...rest,
      ...(section === undefined ? {} : { section }),
      ...(criteria === undefined ? {} : { criteria }),
    }
    const params = { name: id }
    return succeeded(
      await mesh.call({ endpoint: endpoints.projectWrite, params, body, signal, idempotencyKey }),
    )
  },
})
