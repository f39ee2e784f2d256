import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { durationMs, retryAfterInFields, retryAfterInWords } from './retry-after.ts'

/** The contents of a refusal, independent of the provider's format. */
export interface RefusalFacts {
  /** The status of the reply; for a reply with 200, the status that the body names, or 0. */
  readonly status: number
  /** The provider's name in the settings, and the host name of its address; empty if unknown. */
  readonly provider: string
  readonly host: string
  /** Every code, type, status and reason that the body or the headers name. */
  readonly codes: readonly string[]
  readonly message: string
  /** True if the body is JSON with a code or a message; false for a page, a plain text and an empty body. */
  readonly isFromApi: boolean
  /** The wait that the body asks for; null if it names none. */
  readonly retryAfterMs: number | null
}

/** The most codes of one refusal, and the most characters of one code. */
const codesMax = 24
const codeMaxChars = 200
/** The characters of the message that are classified and reported. */
const messageMaxChars = 2000
/** The most nested refusals of other providers that are read; OpenRouter nests one. */
const nestedMax = 2

/** The most errors in errors of one body that are read. */
const errorsMax = 4
/** The most steps of the place in a body that are shown. */
const placesMax = 12

interface RefusalSource {
  readonly status: number
  readonly provider: string
  readonly host: string
  /** The header in which some providers name the kind of error. */
  readonly errorType?: string | null
  /** When the provider replied, by its own clock; null if unknown. */
  readonly repliedAt?: number | null
}

type Fields = Readonly<Record<string, unknown>>

/** Reads the body of a refusal: JSON in any known shape, or the text of a page. Pure. */
export function readRefusal(text: string, of: RefusalSource): RefusalFacts {
  const codes = new Set<string>()
  if (of.errorType) addCode(codes, of.errorType.split(':')[0])
  const body = fieldsIn(readJsonQuietly(text, jsonLimits.serverReply))
  if (body === null) {
    const message = plainText(text)
    const { status, provider, host } = of
    const retryAfterMs = retryAfterInWords(message, of.repliedAt)
    return { status, provider, host, codes: [...codes], message, isFromApi: codes.size > 0, retryAfterMs }
  }
  return factsOf(body, of, codes)
}

/** Reads a refusal that is parsed already, as in an event of a stream or in a body with status 200. Pure. */
export function refusalInAnswer(answer: Fields, of: RefusalSource): RefusalFacts {
  return factsOf(answer, of, new Set())
}

function factsOf(body: Fields, of: RefusalSource, codes: Set<string>): RefusalFacts {
  const read = { messages: [] as string[], retryAfterMs: null as number | null, told: 0 }
  collect(body, { codes, read, depth: 0, repliedAt: of.repliedAt ?? null })
  const message = read.messages.join(': ').slice(0, messageMaxChars)
  const retryAfterMs = read.retryAfterMs ?? retryAfterInWords(message, of.repliedAt)
  const status = of.status === 200 ? read.told || statusByCode(codes) : of.status
  const { provider, host } = of
  const isFromApi = codes.size > 0 || message !== ''
  return { status, provider, host, codes: [...codes].slice(0, codesMax), message, isFromApi, retryAfterMs }
}

/** Codes that reject the request, for errors in answers that name no status; 2013 is MiniMax's. */
const rejecting =
  /^(?:invalid_request_error|bad_request_error|BadRequestError|INVALID_ARGUMENT|ValidationException|2013)$/

function statusByCode(codes: ReadonlySet<string>): number {
  return [...codes].some((code) => rejecting.test(code)) ? 400 : 0
}

interface Reading {
  readonly codes: Set<string>
  readonly read: { messages: string[]; retryAfterMs: number | null; told: number }
  readonly depth: number
  readonly repliedAt: number | null
}

const codeFields = [
  'code',
  'type',
  'status',
  'status_code',
  'reason',
  'error_code',
  '__type',
  'Code',
] as const

/** Members in which an error holds the error that it is about, in the order in which they are tried. */
const innerNames = ['error', 'errors', 'base_resp', 'detail', 'message', 'data'] as const

/**
 * Collects codes and messages from `{error: {...}}`, `{error: "..."}`, `{message, type, code}`, `{detail}`, `{Response:
 * {Error}}`, from errors in errors, and from errors as JSON text in a message.
 */
function collect(body: Fields, reading: Reading): void {
  const { codes, read, depth, repliedAt } = reading
  const holders = errorsIn(body)
  for (const holder of holders) {
    for (const name of codeFields) addCode(codes, holder[name])
    if (isCode(holder['error'])) addCode(codes, holder['error'])
    const code = holder['code'] ?? holder['status_code']
    if (read.told === 0 && isHttpStatus(code)) read.told = Number(code)
  }
  const inner = holders.at(-1) ?? body
  addCode(codes, fieldsIn(inner['innererror'])?.['code'])
  const message = holders.toReversed().reduce<string | null>((found, one) => found ?? messageOf(one), null)
  if (message !== null && !read.messages.includes(message)) read.messages.push(message)
  for (const detail of holders.flatMap((one) => listIn(one['details']))) collectDetail(detail, reading)
  const waits = holders.flatMap((one) => [one, fieldsIn(one['metadata']) ?? {}])
  for (const one of waits) read.retryAfterMs ??= retryAfterInFields(one, repliedAt)
  const metadata = holders.map((one) => fieldsIn(one['metadata'])).find((one) => one !== null)
  if (metadata == null || depth >= nestedMax) return
  if (Array.isArray(metadata['reasons'])) addCode(codes, 'moderation')
  collectRaw(metadata['raw'], { ...reading, depth: depth + 1 })
}

/** Returns the body, the error in it, the error in that one, and so on. */
function errorsIn(body: Fields): readonly Fields[] {
  const holders = [body]
  while (holders.length <= errorsMax) {
    const last = holders.at(-1) ?? body
    const inner = innerNames.map((name) => innerOf(name, last[name])).find((one) => one !== null)
    const found = inner ?? fieldsIn(fieldsIn(last['Response'])?.['Error'])
    if (found === null) break
    holders.push(found)
  }
  return holders
}

function innerOf(name: (typeof innerNames)[number], value: unknown): Fields | null {
  const isText = typeof value === 'string' && /^\s*\{/.test(value)
  const fields = fieldsIn(isText ? readJsonQuietly(value, jsonLimits.serverReply) : value)
  // A list in `detail` names what is wrong with the body; `data` is often something else.
  if (name === 'detail' && Array.isArray(value)) return null
  return name === 'data' && fields?.['error'] === undefined ? null : fields
}

/** Whether a text is a code and not words: some servers write `{"error": "insufficient_quota"}`. */
function isCode(value: unknown): boolean {
  return typeof value === 'string' && /^[a-z]+(?:_[a-z0-9]+)+$/i.test(value)
}

/** Reads Google's details: the id of the quota, and the time to wait. */
function collectDetail(detail: Fields, { codes, read }: Reading): void {
  addCode(codes, detail['reason'])
  read.retryAfterMs ??= durationMs(detail['retryDelay'])
  for (const violation of listIn(detail['violations'])) addCode(codes, violation['quotaId'])
  addCode(codes, fieldsIn(detail['metadata'])?.['quota_limit'])
}

/** Reads the refusal of a provider behind a router, given as text or as an object. */
function collectRaw(raw: unknown, reading: Reading): void {
  const inner = typeof raw === 'string' ? readJsonQuietly(raw, jsonLimits.serverReply) : raw
  const fields = fieldsIn(inner)
  if (fields !== null) collect(fields, reading)
  else if (typeof raw === 'string' && raw.trim() !== '') reading.read.messages.push(plainText(raw))
}

function messageOf(fields: Fields): string | null {
  for (const name of [
    'message',
    'error',
    'detail',
    'error_message',
    'error_msg',
    'msg',
    'status_msg',
    'Message',
  ] as const) {
    const value = fields[name]
    if (typeof value === 'string' && value.trim() !== '') return value.slice(0, messageMaxChars)
  }
  const [first] = listIn(fields['detail'])
  const message = first === undefined ? null : messageOf(first)
  // FastAPI names the place in the body beside the words.
  const place: unknown = first?.['loc']
  return message !== null && Array.isArray(place)
    ? `${place.slice(0, placesMax).join('.')}: ${message}`
    : message
}

function addCode(codes: Set<string>, value: unknown): void {
  if (typeof value !== 'string' && typeof value !== 'number') return
  if (codes.size < codesMax && `${value}` !== '') codes.add(`${value}`.slice(0, codeMaxChars))
}

/** Returns an object, or the first object of a list: Google's streams write an error as a list. */
function fieldsIn(value: unknown): Fields | null {
  const one: unknown = Array.isArray(value) ? value[0] : value
  return typeof one === 'object' && one !== null && !Array.isArray(one) ? (one as Fields) : null
}

function listIn(value: unknown): readonly Fields[] {
  if (!Array.isArray(value)) return []
  return value.slice(0, codesMax).filter((one: unknown): one is Fields => fieldsIn(one) === one)
}

function isHttpStatus(value: unknown): boolean {
  const status = Number(value)
  return Number.isInteger(status) && status >= 400 && status <= 599
}

function plainText(text: string): string {
  return text
    .slice(0, messageMaxChars * 4)
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, messageMaxChars)
}
