import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { ownNameChangeSchema, ownNamesSchema } from './own-names.ts'
import {
  grantSchema,
  identitySchema,
  peopleLimits,
  personNameSchema,
  personRoles,
  tokenStates,
} from './people.ts'

/** Who has access to the people's API, and with which role. */
export const peopleAdminEndpoints = {
  me: { method: 'GET', path: '/api/me', summary: 'Return the caller’s name, role and agents.' },
  ownNames: {
    method: 'GET',
    path: '/api/me/names',
    summary: 'Return the names that the caller gave to conversations and filters.',
  },
  ownNameChange: {
    method: 'PUT',
    path: '/api/me/names',
    summary: 'Set or remove a name that the caller gives to a conversation or filter.',
  },
  people: { method: 'GET', path: '/api/people', summary: 'List all people of config/people.json.' },
  personAdd: {
    method: 'POST',
    path: '/api/people',
    summary: 'Add a person. Only this answer contains the person’s token.',
  },
  personChange: {
    method: 'PATCH',
    path: '/api/people/{name}',
    summary: 'Change role, agents or identities of a person.',
  },
  personRotate: {
    method: 'POST',
    path: '/api/people/{name}/token',
    summary: 'Replace a person’s token. Only this answer contains the new one.',
  },
  proofCode: {
    method: 'POST',
    path: '/api/proof/code',
    summary: 'Create a code that a program of the owner prints. Pages cannot call this.',
  },
  proofGive: {
    method: 'POST',
    path: '/api/proof',
    summary: 'Exchange the code for a proof that pages send with irreversible actions.',
  },
  personRemove: {
    method: 'DELETE',
    path: '/api/people/{name}',
    summary: 'Remove a person and the person’s token.',
  },
} as const satisfies Record<string, Endpoint>

export type PeopleAdminEndpointName = keyof typeof peopleAdminEndpoints

const agents = z.array(grantSchema).check(z.maxLength(peopleLimits.agentsPerPersonMax))
const identities = z.array(identitySchema).check(z.maxLength(peopleLimits.identitiesPerPersonMax))

export const personViewSchema = z.strictObject({
  name: personNameSchema,
  role: z.enum(personRoles),
  agents,
  identities,
  token: z.enum(tokenStates),
  /** Null without a token, or if it is valid until it is replaced. */
  token_expires_at: z.nullable(z.string()),
})
export type PersonView = z.infer<typeof personViewSchema>

/** Days until the token expires; null if it never does; the default of `peopleLimits` if omitted. */
const expiresDays = z.optional(z.nullable(z.int().check(z.gte(1), z.lte(peopleLimits.tokenDaysMax))))

const withToken = z.strictObject({ person: personViewSchema, token: z.string() })

export const peopleAdminApi = {
  me: {
    response: z.strictObject({
      /** Null for the owner of this machine, who has no entry. */
      name: z.nullable(personNameSchema),
      role: z.enum(personRoles),
      agents,
    }),
  },
  ownNames: { response: ownNamesSchema },
  ownNameChange: { request: ownNameChangeSchema, response: ownNamesSchema },
  people: { response: z.strictObject({ people: z.array(personViewSchema) }) },
  personAdd: {
    request: z.strictObject({
      name: personNameSchema,
      role: z.enum(personRoles),
      agents: z._default(agents, []),
      identities: z._default(identities, []),
      expires_days: expiresDays,
    }),
    response: withToken,
  },
  personChange: {
    request: z.strictObject({
      role: z.optional(z.enum(personRoles)),
      agents: z.optional(agents),
      /** Replaces all previous identities. */
      identities: z.optional(identities),
      /** Added to the existing identities. Adding an existing one, or removing a missing one, changes nothing. */
      add_identities: z.optional(identities),
      remove_identities: z.optional(identities),
    }),
    response: personViewSchema,
  },
  personRotate: { request: z.strictObject({ expires_days: expiresDays }), response: withToken },
  proofCode: { response: z.strictObject({ code: z.string(), expires_at: z.number() }) },
  proofGive: {
    request: z.strictObject({ code: z.string().check(z.maxLength(64)) }),
    response: z.strictObject({ proof: z.string(), expires_at: z.number() }),
  },
  personRemove: { response: z.strictObject({ removed: personNameSchema }) },
} as const satisfies Record<PeopleAdminEndpointName, EndpointSchemas>
