import * as z from 'zod/mini'
import { packageListSchema } from './agent-packages.ts'
import { agentSizeSchema } from './agent-size.ts'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'

/** The kinds of approval of what an agent asks for in its container. */
export const packagesApprovalKind = 'add-packages'
export const sizeApprovalKind = 'change-size'

export const resourceRequestLimits = {
  /** The maximum length of the reason of a request, in characters. */
  reasonMaxChars: 500,
  /** The maximum number of names in one request, of all registries together. */
  packagesMax: 20,
} as const

/** The agent API's endpoints for more programs and a larger container, which a person grants. */
export const resourceRequestEndpoints = {
  packagesRequest: {
    method: 'POST',
    path: '/mesh/packages/requests',
    summary: 'Ask a person for packages of apt, npm and pip in the image of the calling agent.',
  },
  sizeRequest: {
    method: 'POST',
    path: '/mesh/sizes/requests',
    summary: 'Ask a person for another size of the container of the calling agent, or of another agent.',
  },
} as const satisfies Record<string, Endpoint>

const reason = z.string().check(z.minLength(1), z.maxLength(resourceRequestLimits.reasonMaxChars))

export const resourceRequestApi = {
  packagesRequest: {
    request: z.strictObject({ packages: packageListSchema, reason }),
    response: z.strictObject({
      request_id: z.string(),
      /** `choosing` while the mesh chooses versions; then a person is asked. */
      state: z.enum(['choosing', 'asked']),
    }),
  },
  sizeRequest: {
    request: z.strictObject({
      /** The agent whose size changes; the caller if it is absent. */
      agent_id: z.optional(agentIdSchema),
      ...agentSizeSchema.shape,
      reason,
    }),
    response: z.strictObject({ request_id: z.string(), state: z.enum(['asked']) }),
  },
} as const satisfies Record<keyof typeof resourceRequestEndpoints, EndpointSchemas>
