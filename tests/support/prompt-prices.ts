import { expandedPrompt } from './deferred-in-prompt.ts'

/** Bills prompts with cache discounts as providers document them. A token is four bytes. Pure but for the caches. */

const bytesPerToken = 4

export interface PromptBill {
  readonly tokens: number
  readonly read: number
  readonly written: number
  /** The cost of the prompt, expressed as a number of tokens at full price. */
  readonly cost: number
}

export interface PricedPrompts {
  /** Throws for a request that the provider would reject. */
  bill(body: Readonly<Record<string, unknown>>): PromptBill
}

/** How a provider caches up to marks. Prices are factors of the full price. */
interface MarkRules {
  readonly mark: 'cache_control' | 'prompt_cache_breakpoint'
  readonly read: number
  readonly write: number
  readonly writeHour: number
  readonly breakpointsMax: number
  readonly lookBackBlocks: number
  readonly minTokens: number
  readonly keptMinutes: number
}

const anthropic: MarkRules = {
  mark: 'cache_control',
  read: 0.1,
  write: 1.25,
  writeHour: 2,
  breakpointsMax: 4,
  lookBackBlocks: 20,
  minTokens: 1024,
  keptMinutes: 5,
}
/** From GPT-5.6 on, a prefix is found only where a mark is. */
const openaiMarks: MarkRules = {
  ...anthropic,
  mark: 'prompt_cache_breakpoint',
  writeHour: 1.25,
  lookBackBlocks: 1,
  keptMinutes: 30,
}
const openai = { read: 0.1, minTokens: 1024, stepTokens: 128 } as const

type Members = Readonly<Record<string, unknown>>

interface Block {
  readonly bytes: number
  /** The prefix that ends with this block. */
  readonly prefix: string
  readonly mark: BlockMark | null
}

type BlockMark = { readonly ttl?: string }

/**
 * Anthropic: tools, system and messages in this order. A prefix is cached at each breakpoint that is long enough,
 * and found at a breakpoint or up to 20 blocks before it. A change of tool choice or thinking invalidates the
 * messages' prefix. Deferred tools are not part of the prefix; a reference to one counts as its definition.
 */
export function anthropicPrices(now: () => number = Date.now): PricedPrompts {
  const prices = markedPrices(anthropic, now)
  return { bill: (body) => prices.bill(expandedPrompt(body)) }
}

/**
 * OpenAI from GPT-5.6 on: up to four marks, of which the provider sets one itself, at the end, if the request does not
 * say `explicit`.
 */
export function openaiMarkPrices(now: () => number = Date.now): PricedPrompts {
  return markedPrices(openaiMarks, now)
}

function markedPrices(rules: MarkRules, now: () => number): PricedPrompts {
  const stored: Stored = new Map()
  return {
    bill(body) {
      const blocks = blocksOf(body, rules)
      const ends: number[] = []
      let bytes = 0
      for (const block of blocks) ends.push((bytes += block.bytes))
      const tokensAt = (index: number) => Math.ceil((ends[index] ?? 0) / bytesPerToken)
      const marked = blocks.flatMap(({ mark }, index) => (mark === null ? [] : [index]))
      if (marked.length > rules.breakpointsMax) throw new Error(`${marked.length} breakpoints`)
      refuseWrongOrder(marked.map((at) => blocks[at]?.mark ?? {}))
      const found = marked.map((at) =>
        lookBack(blocks, at, { stored, now: now(), blocksMax: rules.lookBackBlocks }),
      )
      const hit = Math.max(-1, ...found)
      const long = marked.filter((at) => tokensAt(at) >= rules.minTokens)
      const read = hit === -1 ? 0 : tokensAt(hit)
      const tokens = tokensAt(blocks.length - 1)
      let written = 0
      let cost = read * rules.read
      let from = read
      for (const at of long) {
        const keptMs = (blocks[at]?.mark?.ttl === '1h' ? 60 : rules.keptMinutes) * minuteMs
        stored.set(blocks[at]?.prefix ?? '', { keptMs, until: now() + keptMs })
        const part = Math.max(0, tokensAt(at) - from)
        from += part
        written += part
        cost += part * (blocks[at]?.mark?.ttl === '1h' ? rules.writeHour : rules.write)
      }
      return { tokens, read, written, cost: cost + (tokens - from) }
    },
  }
}

const minuteMs = 60_000

/** The cached beginnings. Each read keeps an entry for another lifetime. */
type Stored = Map<string, { readonly keptMs: number; readonly until: number }>

/** Throws if a mark with a longer lifetime follows a mark with a shorter one, as the provider does. */
function refuseWrongOrder(marks: readonly { readonly ttl?: string }[]): void {
  const short = marks.findIndex(({ ttl }) => ttl !== '1h')
  if (short !== -1 && marks.slice(short).some(({ ttl }) => ttl === '1h'))
    throw new Error('a ttl of 1h must not come after one of 5m')
}

function lookBack(
  blocks: readonly Block[],
  at: number,
  { stored, now, blocksMax }: { readonly stored: Stored; readonly now: number; readonly blocksMax: number },
): number {
  for (let index = at; index >= 0 && at - index < blocksMax; index -= 1) {
    const prefix = blocks[index]?.prefix ?? ''
    const entry = stored.get(prefix)
    if (entry === undefined || entry.until < now) continue
    stored.set(prefix, { ...entry, until: now + entry.keptMs })
    return index
  }
  return -1
}

function blocksOf(body: Members, { mark: member }: MarkRules): readonly Block[] {
  const blocks: Block[] = []
  let prefix = `${String(body['model'])}\n`
  const push = (where: string, value: unknown) => {
    const { [member]: mark = null, ...rest } = value as Members
    const text = `${where} ${JSON.stringify(rest)}`
    prefix += text
    blocks.push({ bytes: Buffer.byteLength(text), prefix, mark: mark as Block['mark'] })
  }
  for (const tool of listOf(body['tools'])) push('tool', tool)
  for (const block of partsOf(body['system'])) push('system', block)
  prefix += JSON.stringify([body['tool_choice'], body['thinking']])
  for (const message of listOf(body['messages'])) {
    const { role, content, ...rest } = message as Members
    if (Object.keys(rest).length > 0) push(String(role), rest)
    for (const part of partsOf(content)) push(String(role), part)
  }
  const options = body['prompt_cache_options'] as Members | undefined
  const last = blocks.at(-1)
  if (member === 'prompt_cache_breakpoint' && options?.['mode'] !== 'explicit' && last !== undefined)
    blocks[blocks.length - 1] = { ...last, mark: {} }
  return blocks
}

/**
 * OpenAI: the longest prefix that an earlier request also had, from 1,024 tokens in steps of 128. A result of a tool
 * search contains the definitions that it found.
 */
export function openaiPrices(): PricedPrompts {
  const seen: Buffer[] = []
  return {
    bill(body) {
      const text = ['tools', 'messages', 'input']
        .map((name) => (name in body ? JSON.stringify(body[name]) : ''))
        .join('')
      const prompt = Buffer.from(text)
      const shared = Math.max(0, ...seen.map((before) => sharedBytes(before, prompt)))
      seen.push(prompt)
      const tokens = Math.ceil(prompt.length / bytesPerToken)
      const steps = Math.floor(shared / bytesPerToken / openai.stepTokens) * openai.stepTokens
      const read = steps < openai.minTokens ? 0 : steps
      return { tokens, read, written: 0, cost: tokens - read + read * openai.read }
    },
  }
}

function sharedBytes(before: Buffer, after: Buffer): number {
  const max = Math.min(before.length, after.length)
  for (let at = 0; at < max; at += 1) if (before[at] !== after[at]) return at
  return max
}

function partsOf(content: unknown): readonly unknown[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
