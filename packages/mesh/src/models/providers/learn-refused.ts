import type { Clock } from '@flotilla/protocol/clock'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '../../intake/index.ts'
import type { Log } from '../../platform/index.ts'
import { refusedMember, withoutMember } from '../refusals/refused-member.ts'
import type { LlmProvider, ProviderRequest } from './llm-provider.ts'
import { readRefusalText } from './read-reply-text.ts'

/** The time for which a refused member is remembered, milliseconds; the provider may accept it later. */
const rememberedMs = 3_600_000
/** The most models whose refusals are remembered; the oldest is forgotten first. */
const modelsMax = 200
/** The most members that are removed from one call; the caller gets further refusals. */
const lostMax = 6
/** The bytes of a refusal that are read. */
const refusalMaxBytes = 16 * 1024

interface LearnDeps {
  readonly clock: Clock
  readonly log?: Pick<Log, 'warn'> | undefined
}

/**
 * Wraps a provider: requests that the mesh wrote (`mayFit`) are sent without members that the model has rejected. If
 * a refusal names a member, the call is sent again without it, once per member; the caller gets any other refusal
 * unchanged. Only members whose removal keeps the meaning are removed (`refused-member.ts`).
 */
export function learningProvider(provider: LlmProvider, { clock, log }: LearnDeps): LlmProvider {
  const remembered = new Map<string, Map<string, number>>()

  function known(model: string): readonly string[] {
    const members = remembered.get(model)
    if (members === undefined) return []
    for (const [name, until] of members)
      if (until <= clock.now() || until > clock.now() + rememberedMs) members.delete(name)
    return [...members.keys()]
  }

  function remember(model: string, name: string): void {
    const members = remembered.get(model) ?? new Map<string, number>()
    members.set(name, clock.now() + rememberedMs)
    remembered.set(model, members)
    const [oldest] = remembered.keys()
    if (remembered.size > modelsMax && oldest !== undefined) remembered.delete(oldest)
  }

  return {
    ...provider,
    async complete(request, options) {
      if (request.form !== 'chat' || request.mayFit !== true) return await provider.complete(request, options)
      const { model } = request
      const lost = new Set(known(model))
      let asked = [...lost].reduce(withoutIn, request)
      for (let tries = 0; ; tries++) {
        const reply = await provider.complete(asked, options)
        if (tries >= lostMax || (reply.status !== 400 && reply.status !== 422)) return reply
        const refusal = await readRefusalText(reply, refusalMaxBytes)
        const name = refusedMember(refusal, bodyOf(asked), lost)
        if (name === null) return { ...reply, body: pieces(refusal), discard: () => {} }
        log?.warn({ model, member: name }, 'a model refused a member of the request; sending without it')
        remember(model, name)
        lost.add(name)
        asked = withoutIn(asked, name)
      }
    },
  }
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
