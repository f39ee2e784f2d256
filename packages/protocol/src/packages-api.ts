import * as z from 'zod/mini'
import { packageListSchema } from './agent-packages.ts'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/** The owner's API for packages of apt, npm and pip in the images of agents. */
export const packagesHumanEndpoints = {
  packages: {
    method: 'GET',
    path: '/api/packages',
    summary: 'List the images with packages: agents, requested packages and locked versions.',
  },
  agentPackages: {
    method: 'GET',
    path: '/api/agents/{id}/packages',
    summary: 'Return the packages of an agent and the state of its image.',
  },
  setAgentPackages: {
    method: 'PUT',
    path: '/api/agents/{id}/packages',
    summary: 'Replace the list of packages of an agent, which its next run uses.',
  },
  rebuildPackages: {
    method: 'POST',
    path: '/api/agents/{id}/packages/rebuild',
    summary: 'Renew the image of an agent with the newest versions of its packages.',
  },
} as const satisfies Record<string, Endpoint>

export type PackagesHumanEndpointName = keyof typeof packagesHumanEndpoints

const lockedSchema = z.array(z.strictObject({ name: z.string(), version: z.string() }))

/** One list of packages, with the image that contains them. Agents with equal lists share it. */
export const packageImageViewSchema = z.strictObject({
  /** Digest of the list; the name of its lock file. */
  key: z.string(),
  agents: z.array(z.string()),
  /** The requested packages, with those of toolboxes. */
  packages: packageListSchema,
  /** Versions with dependencies; null until the first build. */
  locked: z.nullable(z.strictObject({ apt: lockedSchema, npm: lockedSchema, pip: lockedSchema })),
  /** Digest of the lock; null until the first build. */
  lock: z.nullable(z.string()),
  /** Path of the lock file. */
  lock_file: z.string(),
  /**
   * `none`: not built since the mesh started; the next start of an agent builds the image if it is missing.
   * `unavailable`: agents of this mesh have no images of their own.
   */
  state: z.enum(['none', 'building', 'ready', 'failed', 'unavailable']),
  /** Why the last build failed, or why there can be none; empty otherwise. */
  detail: z.string(),
})
export type PackageImageView = z.infer<typeof packageImageViewSchema>

export const agentPackagesViewSchema = z.strictObject({
  agent_id: z.string(),
  /** The list that the owner set for this agent. */
  own: packageListSchema,
  /** Null for an agent without packages. */
  image: z.nullable(packageImageViewSchema),
})
export type AgentPackagesView = z.infer<typeof agentPackagesViewSchema>

export const packagesHumanApi = {
  packages: { response: z.strictObject({ images: z.array(packageImageViewSchema) }) },
  agentPackages: { response: agentPackagesViewSchema },
  setAgentPackages: { request: packageListSchema, response: agentPackagesViewSchema },
  rebuildPackages: { response: agentPackagesViewSchema },
} as const satisfies Record<PackagesHumanEndpointName, EndpointSchemas>
