import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema, runIdSchema, taskIdSchema } from './ids.ts'

/** The agent API's endpoints for tools that do not concern other agents. */
export const toolEndpoints = {
  toolsHeld: {
    method: 'GET',
    path: '/mesh/tools',
    summary: 'List the tools that the calling agent may not use now, and whether its model reads images.',
  },
  self: {
    method: 'GET',
    path: '/mesh/self',
    summary: 'Return the calling agent’s model, current run and remaining budgets.',
  },
  webSearch: {
    method: 'POST',
    path: '/mesh/web-search',
    summary: 'Search the web through the owner’s search provider.',
  },
  artifacts: {
    method: 'GET',
    path: '/mesh/artifacts',
    summary: 'List the artifacts of one agent, newest first.',
  },
  artifact: {
    method: 'GET',
    path: '/mesh/artifacts/{name}',
    summary: 'Return one artifact with its content.',
  },
} as const satisfies Record<string, Endpoint>

export const webSearchBounds = {
  /** The maximum length of a web search query, in characters. */
  queryMaxChars: 400,
  /** The maximum number of results of one web search. */
  resultsMax: 20,
  /** The number of results of a web search if the caller requests no number. */
  resultsDefault: 5,
  /** The maximum length of the title of one result of a web search, in characters. */
  titleMaxChars: 300,
  /** The maximum length of the address of one result of a web search, in characters. */
  urlMaxChars: 2000,
  /** The maximum length of the excerpt of one result of a web search, in characters. */
  snippetMaxChars: 1000,
} as const

export const webSearchRequestSchema = z.strictObject({
  query: z.string().check(z.minLength(1), z.maxLength(webSearchBounds.queryMaxChars)),
  count: z._default(
    z.int().check(z.minimum(1), z.maximum(webSearchBounds.resultsMax)),
    webSearchBounds.resultsDefault,
  ),
})
export type WebSearchRequest = z.output<typeof webSearchRequestSchema>

const webResultSchema = z.strictObject({
  title: z.string().check(z.maxLength(webSearchBounds.titleMaxChars)),
  url: z.string().check(z.maxLength(webSearchBounds.urlMaxChars)),
  snippet: z.string().check(z.maxLength(webSearchBounds.snippetMaxChars)),
  /** The publication date as the provider writes it; null if it gives none. */
  published: z.nullable(z.string().check(z.maxLength(100))),
})
export type WebResult = z.output<typeof webResultSchema>

const artifactSchema = z.strictObject({
  agent_id: agentIdSchema,
  name: z.string(),
  description: z.string(),
  size_bytes: z.int(),
  sha256: z.string(),
  saved_at: z.number(),
  /** The project whose members may read the artifact too; null for none. */
  project: z.nullable(z.string()),
})

const potSchema = z.strictObject({
  name: z.enum(['daily', 'monthly', 'run', 'task']),
  /** The owner of the budget; other agents may spend from that of a project or the fleet. */
  scope: z.enum(['agent', 'project', 'fleet', 'run', 'task']),
  limit_usd: z.number(),
  spent_usd: z.number(),
  /** Money that is neither spent nor reserved for open calls. */
  left_usd: z.number(),
  resets_at: z.nullable(z.string()),
})

/** The artifact's owner; the caller if omitted. Artifacts of others need the permission to view the fleet. */
const artifactOwner = z.strictObject({ agent: z.optional(agentIdSchema) })

export const toolApi = {
  toolsHeld: {
    response: z.strictObject({
      refused: z.array(z.strictObject({ tool: z.string(), reason: z.string() })),
      /** False if the owner says that the model does not support pictures; null if not set. */
      sees_images: z.nullable(z.boolean()),
    }),
  },
  self: {
    response: z.strictObject({
      agent_id: agentIdSchema,
      now: z.string(),
      model: z.nullable(z.string()),
      run: z.nullable(
        z.strictObject({
          id: runIdSchema,
          task_id: z.nullable(taskIdSchema),
          /** The requester of the run. */
          origin: z.string(),
        }),
      ),
      /** Runs of the caller that wait in its lane. */
      queued: z.int(),
      pots: z.array(potSchema),
    }),
  },
  webSearch: {
    request: webSearchRequestSchema,
    response: z.strictObject({ provider: z.string(), results: z.array(webResultSchema) }),
  },
  artifacts: {
    query: z.extend(artifactOwner, {
      /** Files shared by members of the caller's project, whichever agent saved them. */
      shared: z.optional(z.enum(['true', 'false'])),
    }),
    response: z.strictObject({ artifacts: z.array(artifactSchema), more: z.int() }),
  },
  artifact: {
    query: artifactOwner,
    response: z.strictObject({ ...artifactSchema.shape, content_base64: z.string() }),
  },
} as const satisfies Record<keyof typeof toolEndpoints, EndpointSchemas>
