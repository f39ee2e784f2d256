import type { Clock } from '@flotilla/protocol/clock'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import type { Log } from '@flotilla/foundation/platform'
import { members, withoutMember } from '../refusals/optional-members.ts'
import { refusedMember } from '../refusals/refused-member.ts'
import { spendIn } from '../wire/collect-reply.ts'
import type { LlmProvider, ProviderRequest } from '../llm-provider.ts'
import { readRefusalText } from './read-reply-text.ts'

/** The time for which a refused member is remembered, milliseconds; the provider may accept it later. */
const rememberedMs = 3_600_000
/** The most forms of requests whose refusals are remembered; the oldest is forgotten first. */
const formsMax = 500
/** The most members that are removed from one call; the caller gets further refusals. */
const lostMax = 6
/** The bytes of a refusal that are read. */
const refusalMaxBytes = 16 * 1024
/** The most members and values that are remembered for one form. */
const membersMax = 20
/** How many first characters of a value are compared to distinguish the value from another value. */
const valueMaxChars = 200

interface LearnDeps {
  readonly clock: Clock
  readonly log?: Pick<Log, 'warn'> | undefined
}

/**
 * Wraps a provider: requests that the mesh wrote (`mayFit`) are sent without members that the model has rejected. If
 * a refusal names a member, the call is sent again without it, once per member; the caller gets any other refusal
 * unchanged. Only members whose removal keeps the meaning are removed (`optional-members.ts`).
 *
 * A member is remembered only if the request was accepted right after its removal: an error may quote the caller,
 * so it proves nothing. What is remembered applies to requests of the same model with the same members and, unless
 * the member is renamed, with the same value.
 */
export function learningProvider(provider: LlmProvider, { clock, log }: LearnDeps): LlmProvider {
  const remembered = new Map<string, Map<string, { readonly name: string; readonly until: number }>>()

  /** Returns the members of this request that the model refused in an earlier request of the same form. */
  function known(form: string, request: JsonObject): readonly string[] {
    const ofForm = remembered.get(form)
    if (ofForm === undefined) return []
    for (const [key, { until }] of ofForm)
      if (until <= clock.now() || until > clock.now() + rememberedMs) ofForm.delete(key)
    return [...ofForm].flatMap(([key, { name }]) => (key === memberKey(request, name) ? [name] : []))
  }

  function remember(form: string, request: JsonObject, name: string): void {
    const ofForm = remembered.get(form) ?? new Map<string, { name: string; until: number }>()
    const key = memberKey(request, name)
    ofForm.delete(key)
    ofForm.set(key, { name, until: clock.now() + rememberedMs })
    const [first] = ofForm.keys()
    if (ofForm.size > membersMax && first !== undefined) ofForm.delete(first)
    remembered.delete(form)
    remembered.set(form, ofForm)
    const [oldest] = remembered.keys()
    if (remembered.size > formsMax && oldest !== undefined) remembered.delete(oldest)
  }

  return {
    ...provider,
    async complete(request, options) {
      if (request.form !== 'chat' || request.mayFit !== true) return await provider.complete(request, options)
      const { model, parameters: whole } = request
      const form = JSON.stringify([model, request.stream, ...Object.keys(whole).toSorted()])
      const lost = new Set(known(form, whole))
      let attempt = [...lost].reduce(withoutIn, request)
      let last = null as { readonly name: string; readonly refusal: string } | null
      for (let tries = 0; ; tries++) {
        const reply = await provider.complete(attempt, options)
        if (reply.status === 200 && last !== null) remember(form, whole, last.name)
        if (tries >= lostMax || (reply.status !== 400 && reply.status !== 422)) return reply
        const refusal: string = await readRefusalText(reply, refusalMaxBytes)
        // The same refusal again shows that the removed member was not its cause.
        const isSame: boolean = refusal === last?.refusal
        const name: string | null = isSame
          ? null
          : spendIn(options, () => refusedMember(refusal, bodyOf(attempt), lost))
        if (name === null) return { ...reply, body: pieces(refusal), discard: () => {} }
        log?.warn({ model, member: name }, 'a model refused a member of the request; sending without it')
        lost.add(name)
        last = { name, refusal }
        attempt = withoutIn(attempt, name)
      }
    },
  }
}

/** Returns a key for a member: its name and value, or only its name if the member is renamed. */
function memberKey(request: JsonObject, name: string): string {
  const value = members[name]?.becomes === undefined ? (request[name] ?? null) : null
  return `${name} ${JSON.stringify(value).slice(0, valueMaxChars)}`
}

function withoutIn(request: ProviderRequest, name: string): ProviderRequest {
  const body = withoutMember(bodyOf(request), name)
  return { ...request, parameters: withoutMember(request.parameters, name), body: JSON.stringify(body) }
}

function bodyOf({ body }: ProviderRequest): JsonObject {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  const value = readJsonQuietly(text, jsonLimits.modelBody)
  return isJsonObject(value) ? value : {}
}

async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
