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

/** Prices of cached tokens, as factors of the full price. */
const anthropic = {
  read: 0.1,
  write: 1.25,
  writeHour: 2,
  breakpointsMax: 4,
  lookBackBlocks: 20,
  minTokens: 1024,
} as const
const openai = { read: 0.1, minTokens: 1024, stepTokens: 128 } as const

type Members = Readonly<Record<string, unknown>>

interface Block {
  readonly bytes: number
  /** The prefix that ends with this block. */
  readonly prefix: string
  readonly mark: { readonly ttl?: string } | null
}

/**
 * Anthropic: tools, system and messages in this order. A prefix is cached at each breakpoint that is long enough,
 * and found at a breakpoint or up to 20 blocks before it. A change of tool choice or thinking invalidates the
 * messages' prefix.
 */
export function anthropicPrices(now: () => number = Date.now): PricedPrompts {
  const stored: Stored = new Map()
  return {
    bill(body) {
      const blocks = blocksOf(body)
      const ends: number[] = []
      let bytes = 0
      for (const block of blocks) ends.push((bytes += block.bytes))
      const tokensAt = (index: number) => Math.ceil((ends[index] ?? 0) / bytesPerToken)
      const marked = blocks.flatMap(({ mark }, index) => (mark === null ? [] : [index]))
      if (marked.length > anthropic.breakpointsMax) throw new Error(`${marked.length} breakpoints`)
      refuseWrongOrder(marked.map((at) => blocks[at]?.mark ?? {}))
      const found = marked.map((at) => lookBack(blocks, at, { stored, now: now() }))
      const hit = Math.max(-1, ...found)
      const long = marked.filter((at) => tokensAt(at) >= anthropic.minTokens)
      const read = hit === -1 ? 0 : tokensAt(hit)
      const tokens = tokensAt(blocks.length - 1)
      let written = 0
      let cost = read * anthropic.read
      let from = read
      for (const at of long) {
        const keptMs = blocks[at]?.mark?.ttl === '1h' ? 60 * minuteMs : 5 * minuteMs
        stored.set(blocks[at]?.prefix ?? '', { keptMs, until: now() + keptMs })
        const part = Math.max(0, tokensAt(at) - from)
        from += part
        written += part
        cost += part * (blocks[at]?.mark?.ttl === '1h' ? anthropic.writeHour : anthropic.write)
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
  { stored, now }: { readonly stored: Stored; readonly now: number },
): number {
  for (let index = at; index >= 0 && at - index < anthropic.lookBackBlocks; index -= 1) {
    const prefix = blocks[index]?.prefix ?? ''
    const entry = stored.get(prefix)
    if (entry === undefined || entry.until < now) continue
    stored.set(prefix, { ...entry, until: now + entry.keptMs })
    return index
  }
  return -1
}

function blocksOf(body: Members): readonly Block[] {
  const blocks: Block[] = []
  let prefix = `${String(body['model'])}\n`
  const push = (where: string, value: unknown) => {
    const { cache_control: mark = null, ...rest } = value as Members
    const text = `${where} ${JSON.stringify(rest)}`
    prefix += text
    blocks.push({ bytes: Buffer.byteLength(text), prefix, mark: mark as Block['mark'] })
  }
  for (const tool of listOf(body['tools'])) push('tool', tool)
  for (const block of partsOf(body['system'])) push('system', block)
  prefix += JSON.stringify([body['tool_choice'], body['thinking']])
  for (const message of listOf(body['messages'])) {
    const { role, content } = message as Members
    for (const part of partsOf(content)) push(String(role), part)
  }
  return blocks
}

/** OpenAI: the longest prefix that an earlier request also had, from 1,024 tokens in steps of 128. */
export function openaiPrices(): PricedPrompts {
  const seen: Buffer[] = []
  return {
    bill(body) {
      const text = ['tools', 'messages'].map((name) => JSON.stringify(body[name] ?? [])).join('')
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
