import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema, idSchema } from './ids.ts'

/** The agent API of the vault: names and handles, never a value. */
export const vaultAgentEndpoints = {
  vaultList: {
    method: 'GET',
    path: '/mesh/credentials',
    summary: 'List the credentials that the calling agent may use.',
  },
  vaultGenerate: {
    method: 'POST',
    path: '/mesh/credentials/generate',
    summary: 'Create a random credential and return its handle.',
  },
  credentialRequest: {
    method: 'POST',
    path: '/mesh/credentials/requests',
    summary: 'Ask the owner for a credential.',
  },
} as const satisfies Record<string, Endpoint>

/** The owner's API for credentials. */
export const vaultHumanEndpoints = {
  credentials: {
    method: 'GET',
    path: '/api/credentials',
    summary: 'List credentials with their hosts and fingerprints, without values.',
  },
  credentialSet: {
    method: 'PUT',
    path: '/api/credentials/{name}',
    summary: 'Store a credential that agents can use by its handle.',
  },
  credentialRemove: {
    method: 'DELETE',
    path: '/api/credentials/{name}',
    summary: 'Delete a credential and its binding to hosts.',
  },
  credentialBind: {
    method: 'PUT',
    path: '/api/credentials/{name}/binding',
    summary: 'Set the hosts to which a credential may be sent.',
  },
  credentialUnbind: {
    method: 'DELETE',
    path: '/api/credentials/{name}/binding',
    summary: 'Remove the binding of a credential, so that it is sent to no host.',
  },
  credentialRequests: {
    method: 'GET',
    path: '/api/credential-requests',
    summary: 'List agents’ requests for credentials, newest first.',
  },
  credentialRequestDeny: {
    method: 'POST',
    path: '/api/credential-requests/{id}/deny',
    summary: 'Refuse an agent’s request for a credential.',
  },
} as const satisfies Record<string, Endpoint>

export type VaultAgentEndpointName = keyof typeof vaultAgentEndpoints
export type VaultHumanEndpointName = keyof typeof vaultHumanEndpoints

export const credentialNameSchema = z
  .string()
  .check(
    z.regex(
      /^[A-Za-z0-9][A-Za-z0-9_]{0,127}$/,
      'a credential name is 1 to 128 letters, digits and _, beginning with a letter or digit',
    ),
  )

export const generatedCharsets = ['urlsafe', 'hex', 'alphanumeric'] as const
export type GeneratedCharset = (typeof generatedCharsets)[number]

export const vaultLimits = {
  /** The maximum length of the value of a credential, in characters. */
  valueMaxChars: 10_000,
  /** The maximum length of the name of the service for which an agent requests a credential, in characters. */
  serviceMaxChars: 128,
  /** The maximum length of the description of a requested credential, in characters. */
  descriptionMaxChars: 500,
  /** The length of a credential that the mesh generates, in characters. */
  generated: { lengthMin: 16, lengthMax: 256, lengthDefault: 32 },
} as const

const hosts = z.array(z.string().check(z.maxLength(300))).check(z.maxLength(50))
const programs = z.array(z.string().check(z.maxLength(150))).check(z.maxLength(10))
const text = (maxChars: number) => z.string().check(z.minLength(1), z.maxLength(maxChars))

export const credentialViewSchema = z.strictObject({
  name: z.string(),
  tier: z.enum(['system', 'agent']),
  source: z.enum(['environment', 'file', 'mesh']),
  /** Distinguishes values without revealing any part of them. */
  fingerprint: z.string(),
  hosts: z.array(z.string()),
  note: z.string(),
  /** The places of the placeholder for programs, such as `git` or `env:GH_TOKEN`. */
  programs: z.array(z.string()),
  /** The reason why the mesh fills in the credential for no host; null if it fills it in for `hosts`. */
  unused_because: z.nullable(z.string()),
  /** One sentence per host that may still refuse requests: what the binding covers, and how to make requests work. */
  notices: z.array(z.string()),
})
export type CredentialView = z.infer<typeof credentialViewSchema>

export const requestStates = ['open', 'granted', 'denied', 'expired'] as const
export const credentialRequestViewSchema = z.strictObject({
  id: idSchema('cred'),
  agent_id: agentIdSchema,
  name: z.string(),
  service: z.string(),
  description: z.string(),
  state: z.enum(requestStates),
  created_at: z.number(),
  answered_at: z.nullable(z.number()),
})
export type CredentialRequestView = z.infer<typeof credentialRequestViewSchema>

export const vaultAgentApi = {
  vaultList: {
    response: z.strictObject({
      credentials: z.array(
        z.strictObject({ name: z.string(), handle: z.string(), hosts: z.array(z.string()) }),
      ),
    }),
  },
  vaultGenerate: {
    request: z.strictObject({
      name: credentialNameSchema,
      length: z._default(
        z.int().check(z.minimum(vaultLimits.generated.lengthMin), z.maximum(vaultLimits.generated.lengthMax)),
        vaultLimits.generated.lengthDefault,
      ),
      charset: z._default(z.enum(generatedCharsets), 'urlsafe'),
    }),
    response: z.strictObject({ name: z.string(), handle: z.string() }),
  },
  credentialRequest: {
    request: z.strictObject({
      name: credentialNameSchema,
      service: text(vaultLimits.serviceMaxChars),
      description: text(vaultLimits.descriptionMaxChars),
    }),
    response: z.strictObject({ request_id: z.string(), state: z.enum(requestStates) }),
  },
} as const satisfies Record<VaultAgentEndpointName, EndpointSchemas>

export const vaultHumanApi = {
  credentials: {
    response: z.strictObject({
      credentials: z.array(credentialViewSchema),
      /** Why the mesh fills in no credential at all, with file and line; null while the bindings file is valid. */
      broken: z.nullable(z.string()),
    }),
  },
  credentialSet: {
    request: z.strictObject({
      value: z.string().check(z.maxLength(4 * vaultLimits.valueMaxChars)),
      hosts: z.optional(hosts),
      programs: z.optional(programs),
    }),
    response: credentialViewSchema,
  },
  credentialRemove: { response: z.strictObject({ removed: z.string() }) },
  credentialBind: {
    request: z.strictObject({
      hosts,
      note: z.optional(z.string().check(z.maxLength(500))),
      programs: z.optional(programs),
    }),
    response: credentialViewSchema,
  },
  credentialUnbind: { response: credentialViewSchema },
  credentialRequests: { response: z.strictObject({ requests: z.array(credentialRequestViewSchema) }) },
  credentialRequestDeny: {
    request: z.strictObject({ reason: z._default(z.string().check(z.maxLength(500)), '') }),
    response: credentialRequestViewSchema,
  },
} as const satisfies Record<VaultHumanEndpointName, EndpointSchemas>
