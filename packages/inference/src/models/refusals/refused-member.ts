import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { isEchoed } from './echoed-text.ts'
import { hasMember, members } from './optional-members.ts'
import type { Member } from './optional-members.ts'
import { readRefusal } from './read-refusal.ts'

/** Words that reject a member itself, and not the value of a required member. */
const refusing =
  /unsupported|not (?:currently )?support|n't support|unrecogni[sz]ed|unknown (?:parameter|field|argument|name|property|variant)|extra inputs? (?:is|are) not permitted|extra_forbidden|unexpected (?:keyword|field|property|message role|role)|not (?:allowed|permitted|accepted|available)|deprecated|additional propert|cannot (?:both )?be (?:both )?(?:used|set|specified)|can only be (?:used|set)|may only be|only the default|no such (?:field|parameter)|does not (?:accept|take)|is not a valid (?:parameter|role)|invalid (?:parameter|role)|only allowed when|requires --enable|not match any of the expected tags|not found in available tools|no corresponding tool definition|invalid value: (?='tool_search)|missing namespace/gi

/** Words that reject the name of a member, whatever its value is. */
const refusingNames =
  /extra_forbidden|extra inputs?|additional propert|(?:unsupported|unknown|unrecogni[sz]ed|invalid|unexpected|no such) (?:request )?(?:parameter|field|argument|property|keyword)/i

/** The most characters from the rejecting words to the name of the member, both included. */
const spanMaxChars = 200
/** The most spans of one refusal that are searched in the request. */
const spansMax = 8

/**
 * Returns the member of this request that a refusal names as unsupported; null if the refusal names none or a
 * required one. Members in `lost` are removed already. A message that names a member counts only if the request does
 * not contain the same words, because providers quote the request in their errors. Pure.
 */
export function refusedMember(
  refusal: string,
  request: JsonObject,
  lost: ReadonlySet<string>,
): string | null {
  const { message, codes } = readRefusal(refusal, { status: 400, provider: '', host: '' })
  // If the provider rejects a schema in strict mode, `strict` is the member to remove: the schema is then accepted.
  if (!lost.has('strict') && hasMember(request, 'strict') && refusesSchema(message, codes, request))
    return 'strict'
  const isCoded = codes.some((code) => /^unsupported_(?:parameter|value)$|^extra_forbidden$/.test(code))
  const text = message.toLowerCase()
  const refusals = [...text.matchAll(refusing)].map(({ 0: found, index }) => ({
    from: index,
    to: index + found.length,
  }))
  if (!isCoded && refusals.length === 0) return null
  const path = pathIn(refusal)
  const search = { words: text, refusals, left: spansMax, request }
  const places = Object.entries(members).flatMap(([name, member]) => {
    const isThere = !lost.has(name) && !lost.has(member.becomes ?? '') && hasMember(request, name)
    if (!isThere || (member.becomes !== undefined && !refusesName(text, codes, member.becomes))) return []
    const isInWords = path === '' || (name === 'defer_loading' && itemOfSearch.test(path))
    const at = isInWords ? placeInWords(member, search) : isAtPath(name, member, path) ? 0 : -1
    return at === -1 ? [] : [{ name, at }]
  })
  return places.toSorted((a, b) => a.at - b.at)[0]?.name ?? null
}

function refusesSchema(message: string, codes: readonly string[], request: JsonObject): boolean {
  if (codes.some((code) => /^invalid_(?:json_schema|function_parameters)$/.test(code))) return true
  const found =
    /invalid (?:json )?schema|schema.{0,80}(?:strict|not supported|unsupported|is not permitted|must be false)|additionalproperties'? is required/i.exec(
      message,
    )
  return found !== null && !isEchoed(request, found[0])
}

/**
 * Whether a refusal rejects the name of a bound or proposes the other name. A server that only rejects the value
 * might ignore the other name, and then the answer would have no bound.
 */
function refusesName(text: string, codes: readonly string[], other: string): boolean {
  if (codes.includes('unsupported_value')) return false
  return codes.includes('unsupported_parameter') || refusingNames.test(text) || text.includes(other)
}

interface Asked {
  readonly words: string
  /** The places of the rejecting words. */
  readonly refusals: readonly { readonly from: number; readonly to: number }[]
  left: number
  readonly request: JsonObject
}

/** Returns the place where the message rejects the member; -1 if it does not, or the request has the same words. */
function placeInWords({ named }: Member, search: Asked): number {
  for (const name of named) {
    const pattern = new RegExp(
      // "user" is a common word and a role, so it counts only in quotes or after a label such as `parameter:`.
      name === 'user'
        ? String.raw`(?<=['"\x60]|parameter:? |supplied: )user(?![a-z0-9_])`
        : String.raw`(?<![a-z0-9_])${name.replace('.', String.raw`\.`)}(?![a-z0-9_])`,
      'g',
    )
    for (const { index } of search.words.matchAll(pattern)) {
      for (const refusal of search.refusals) {
        const from = Math.min(refusal.from, index)
        const to = Math.max(refusal.to, index + name.length)
        if (to - from > spanMaxChars) continue
        if (search.left-- <= 0) return -1
        if (!isEchoed(search.request, search.words.slice(from, to))) return index
      }
    }
  }
  return -1
}

/** Whether a path leads to the member itself, and not to a name of the same spelling inside a tool or a text. */
function isAtPath(name: string, { named, of }: Member, path: string): boolean {
  if (of === undefined) return named.includes(path)
  if (name === 'developer') return /^messages\.\d+\.role$/.test(path)
  const holder = of === 'functions' ? String.raw`tools\.\d+(?:\.(?:function|custom))?` : itemOfMessages
  return new RegExp(String.raw`^${holder}\.${name}$`).test(path)
}

/** OpenAI names the item of its tool search by its place, and the member in words. */
const itemOfSearch = /^(?:tools|input)(?:\.|$)/

/** Matches the path of a message, of a part of its content, of a system text or of a tool. */
const itemOfMessages = String.raw`(?:messages|system|tools)\.\d+(?:\.(?:content|function)(?:\.\d+)?)?`

/** Returns the path in `param` or in FastAPI's `loc` of a refusal, such as `messages.0.role`; empty without it. */
function pathIn(refusal: string): string {
  const body = readJsonQuietly(refusal, jsonLimits.serverReply)
  if (!isJsonObject(body)) return ''
  const error = isJsonObject(body['error']) ? body['error'] : body
  const [detail] = Array.isArray(body['detail']) ? body['detail'] : []
  const loc =
    isJsonObject(detail) && Array.isArray(detail['loc']) ? detail['loc'].map(String).join('.') : null
  const param = error['param'] ?? loc
  if (typeof param !== 'string') return ''
  return param
    .toLowerCase()
    .replaceAll(/\[(\d{1,6})\]/g, '.$1')
    .replace(/^body\./, '')
}
