import * as z from 'zod/mini'
import { agentIdSchema, operatorAgentId } from './ids.ts'

/** The roles of people, from the least to the most rights: each includes the rights of those before it. */
export const personRoles = ['viewer', 'member', 'owner'] as const
export type PersonRole = (typeof personRoles)[number]

/** Whether `role` is at least `required`. Pure. */
export function roleReaches(role: PersonRole, required: PersonRole): boolean {
  return personRoles.indexOf(role) >= personRoles.indexOf(required)
}

/** The prefix of personal access tokens, which no token of an agent has. */
export const personTokenPrefix = 'flp_'

export const peopleLimits = {
  /** The maximum number of people in config/people.json. */
  peopleMax: 200,
  /** The maximum number of agents to which one person's access is limited. */
  agentsPerPersonMax: 500,
  /** The maximum number of accounts on chat platforms of one person. */
  identitiesPerPersonMax: 20,
  /** The maximum length of a person's name, in characters. */
  nameMaxChars: 32,
  /** Default lifetime in days of a new token of a person who is not an owner. */
  tokenDays: 90,
  /** The longest lifetime of a person's token that can be requested, in days. */
  tokenDaysMax: 3650,
} as const

export const personNameSchema = z
  .string()
  .check(
    z.maxLength(peopleLimits.nameMaxChars),
    z.regex(/^[a-z0-9][a-z0-9_.-]*$/, 'a name is lower-case letters, digits and _ . -'),
  )

/** Agent ids; a lone `*` means every worker and never the operator, because the operator can act on all others. */
export const grantSchema = z.union([z.literal('*'), agentIdSchema])

/** Whether a person with these grants may act on the agent. Acting on the operator needs its id as a grant. Pure. */
export function isGranted(agents: readonly string[], agentId: string): boolean {
  return agents.includes(agentId) || (agents.includes('*') && agentId !== operatorAgentId)
}

/**
 * How a person is identified without a token. `user:NUMBER`: their programs run under that account of this machine.
 * `local`: the owner of this machine's mesh. `session`: the holder of the cookie of a hosted one. A channel identity
 * uses the id that the platform gives out, and not a name that any user may choose. `local` and `session` are owners,
 * whatever they are called.
 */
export const ownerIdentities = ['local', 'session'] as const
export type OwnerIdentity = (typeof ownerIdentities)[number]

/** Each person of a channel has one spelling, so that one person is never counted as two. */
export const channelIdentities = {
  telegram: { form: /^[1-9]\d{0,19}$/, example: 'telegram:123456789', description: 'the number of the user' },
  discord: {
    form: /^[1-9]\d{4,19}$/,
    example: 'discord:80351110224678912',
    description: 'the id of the user',
  },
  slack: {
    form: /^[TE][A-Z0-9]{1,23}:[UW][A-Z0-9]{1,23}$/,
    example: 'slack:T0123ABC:U0456DEF',
    description: 'the id of the workspace and that of the member',
  },
  whatsapp: {
    form: /^[1-9]\d{6,14}$/,
    example: 'whatsapp:491701234567',
    description: 'the number with its country code, digits alone',
  },
  webhook: {
    form: /^[A-Za-z0-9_-]{1,64}:[A-Za-z0-9_.@-]{1,128}$/,
    example: 'webhook:intranet:ann',
    description: 'the name of the channel and what it calls the person',
  },
} as const satisfies Readonly<Record<string, { form: RegExp; example: string; description: string }>>
export type ChannelName = keyof typeof channelIdentities
export const channelNames = Object.keys(channelIdentities) as ChannelName[] // the keys of the table

export const identitySchema = z.string().check(
  z.maxLength(256),
  z.refine(isIdentity, {
    error: `an identity is user:NUMBER (an account of this machine), local, session, or of a channel: ${channelNames
      .map((name) => channelIdentities[name].example)
      .join(', ')}`,
  }),
)

function isIdentity(text: string): boolean {
  if (/^(?:local|session|user:\d{1,10})$/.test(text)) return true
  return channelNames.some(
    (name) => text.startsWith(`${name}:`) && channelIdentities[name].form.test(text.slice(name.length + 1)),
  )
}

/**
 * Returns one spelling for ids of a platform that spells one number in two ways: Brazilian mobile numbers with and
 * without the ninth digit, Mexican numbers with and without the 1 behind the country code. Not for Argentina, where a
 * number with the 9 differs from the one without. Pure.
 */
export function canonicalIdentity(identity: string): string {
  return identity
    .replace(/^whatsapp:55(\d{2})9([6-9]\d{7})$/, 'whatsapp:55$1$2')
    .replace(/^whatsapp:521(\d{10})$/, 'whatsapp:52$1')
}

const tokenDigest = z.string().check(z.regex(/^[0-9a-f]{64}$/, 'the SHA-256 of a token as 64 hex digits'))

/** One entry of `config/people.json`. */
export const personSchema = z.strictObject({
  name: personNameSchema,
  role: z.enum(personRoles),
  /** The agents that a member may act on. Owners act on all, viewers on none. */
  agents: z._default(z.array(grantSchema).check(z.maxLength(peopleLimits.agentsPerPersonMax)), []),
  identities: z._default(z.array(identitySchema).check(z.maxLength(peopleLimits.identitiesPerPersonMax)), []),
  /** Null for a person without a token. The token itself is printed once and not stored. */
  token_sha256: z._default(z.nullable(tokenDigest), null),
  /** The token is rejected after this time; null if it is valid until it is replaced. */
  token_expires_at: z._default(z.nullable(z.iso.datetime()), null),
})
export type Person = z.infer<typeof personSchema>

/** The states of a person's token. */
export const tokenStates = ['none', 'valid', 'expired'] as const
export type TokenState = (typeof tokenStates)[number]

/** Returns the state of a person's token at `now`, in milliseconds since 1970. Pure. */
export function tokenStateOf(
  person: Pick<Person, 'token_sha256' | 'token_expires_at'>,
  now: number,
): TokenState {
  if (person.token_sha256 === null) return 'none'
  return person.token_expires_at !== null && Date.parse(person.token_expires_at) <= now ? 'expired' : 'valid'
}

export const peopleFileSchema = z
  .strictObject({ people: z.array(personSchema).check(z.maxLength(peopleLimits.peopleMax)) })
  .check(
    unique('two people have the name', ({ name }) => [name]),
    unique('two people have the token with the digest', ({ token_sha256: digest }) =>
      digest === null ? [] : [digest],
    ),
    unique('two people have the identity', ({ identities }) => identities),
    ownersOnly(),
  )
export type PeopleFile = z.infer<typeof peopleFileSchema>

/** Requires the role `owner` for the identities of owners: the machine's owner could undo any lower role. */
function ownersOnly() {
  return z.superRefine<{ people: Person[] }>(({ people }, context) => {
    const index = people.findIndex(
      ({ role, identities }) => role !== 'owner' && ownerIdentities.some((one) => identities.includes(one)),
    )
    if (index === -1) return
    context.addIssue({
      code: 'custom',
      path: ['people', index],
      message: `${ownerIdentities.join(' and ')} are identities of owners alone`,
      input: people[index],
    })
  })
}

function unique(message: string, valuesOf: (person: Person) => readonly string[]) {
  return z.superRefine<{ people: Person[] }>(({ people }, context) => {
    const seen = new Set<string>()
    for (const [index, person] of people.entries()) {
      for (const value of valuesOf(person)) {
        if (seen.has(value)) {
          context.addIssue({
            code: 'custom',
            path: ['people', index],
            message: `${message} ${value}`,
            input: person,
          })
          return
        }
        seen.add(value)
      }
    }
  })
}
