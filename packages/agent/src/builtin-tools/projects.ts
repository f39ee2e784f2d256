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
    'Shows your project, or those that you manage: without a name all of them in short; with one its goal, texts with their versions, members, tasks and budget.',
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
  description: `Does something with a project. ${manageProjectActions
    .map((action) => `${action}: ${manageProjectWords[action]}`)
    .join('; ')}.`,
  parameters: {
    name,
    action: choice('What is done', manageProjectActions),
    agents: withDefault(
      textList('Ids of the agents that come in or go', {
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
    'Writes the goal or one section of a project, which each member reads in its PROJECT.md. Read it first: a text that another has written meanwhile is not written over, you are shown it instead.',
  parameters: {
    name,
    section: optional(text('Heading of the section; left out, the goal is written', { maxChars: 64 })),
    text: text('The whole new text; empty takes a section away', { maxChars: projectLimits.sectionMaxChars }),
    criteria: optional(
      textList('Of the goal: how one sees that it is reached. Left out, they stay', {
        maxItems: projectLimits.criteriaMax,
        maxChars: projectLimits.criterionMaxChars,
      }),
    ),
    expected_version: integer('The version that you read; 0 for a text that is new', { min: 0, max: 1e15 }),
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
