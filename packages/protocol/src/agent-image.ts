import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/**
 * An image of the owner's choice, by name and digest. A tag alone may lead to another image tomorrow, so it is refused; a
 * tag before the digest has no effect.
 */
export const ownImageSchema = z
  .string()
  .check(
    z.maxLength(512),
    z.regex(
      /^[a-z0-9][a-z0-9._-]*(?::\d{1,5})?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?@sha256:[0-9a-f]{64}$/,
      'an image is named with its digest, such as registry.example/team/tools@sha256: and 64 hexadecimal digits',
    ),
  )

/** The people's API for the image from which an agent runs. */
export const agentImageEndpoints = {
  agentImage: {
    method: 'GET',
    path: '/api/agents/{id}/image',
    summary: 'Return the image of the owner from which an agent runs.',
  },
  setAgentImage: {
    method: 'PUT',
    path: '/api/agents/{id}/image',
    summary: 'Replace the image of the owner from which an agent runs, after a test of it.',
  },
} as const satisfies Record<string, Endpoint>

export type AgentImageEndpointName = keyof typeof agentImageEndpoints

export const agentImageViewSchema = z.strictObject({
  agent_id: z.string(),
  /** The agent whose image applies: the root ancestor of an agent that agents created. */
  set_at: z.string(),
  /** Null for the agent image. */
  image: z.nullable(z.string()),
})
export type AgentImageView = z.infer<typeof agentImageViewSchema>

export const agentImageApi = {
  agentImage: { response: agentImageViewSchema },
  setAgentImage: {
    request: z.strictObject({ image: z.nullable(ownImageSchema) }),
    response: agentImageViewSchema,
  },
} as const satisfies Record<AgentImageEndpointName, EndpointSchemas>
