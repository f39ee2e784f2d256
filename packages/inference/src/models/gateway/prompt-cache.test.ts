import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { headers } from '@flotilla/protocol/headers'
import { doorTokenOfScout, startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../../../../../tests/support/llm-gateway.ts'
import type { WireKind } from '../../../../../tests/support/model-wires.ts'

type Members = Readonly<Record<string, unknown>>

const byMarks: readonly { wire: WireKind; model: string }[] = [
  { wire: 'anthropic', model: 'anthropic/claude-haiku-4-5' },
  { wire: 'bedrock', model: 'bedrock/anthropic.claude-sonnet-4-20250514-v1:0' },
  { wire: 'openai', model: 'openrouter/anthropic/claude-sonnet-4.5' },
  { wire: 'openai', model: 'openrouter/openai/gpt-5.6' },
]
const byPrefix: readonly { wire: WireKind; model: string }[] = [
  { wire: 'openai', model: 'groq/m' },
  { wire: 'openai', model: 'openrouter/openai/gpt-5' },
  { wire: 'google', model: 'google/gemini-2.5-flash' },
  { wire: 'mistral', model: 'mistral/mistral-large-latest' },
  { wire: 'cohere', model: 'cohere/command-a-03-2025' },
  { wire: 'openai', model: 'azure/gpt-4o' },
  { wire: 'bedrock', model: 'bedrock/meta.llama3-3-70b-instruct-v1:0' },
]

/** One piece of a prompt in the provider's format. */
interface Piece {
  readonly text: string
  readonly isMarked: boolean
}

/** A prompt in the order in which providers cache it. */
function piecesOf(body: Members): readonly Piece[] {
  const pieces: Piece[] = []
  const push = (value: unknown) => {
    const { cache_control: mark, prompt_cache_breakpoint: breakpoint = mark, ...rest } = value as Members
    // Amazon's cache mark is a separate block after the part that it marks.
    if ('cachePoint' in rest) {
      const last = pieces.pop()
      if (last) pieces.push({ ...last, isMarked: true })
    } else pieces.push({ text: JSON.stringify(rest), isMarked: breakpoint !== undefined })
  }
  for (const tool of listOf(body['tools'] ?? (body['toolConfig'] as Members)?.['tools'])) push(tool)
  for (const part of listOf(body['system'])) push(part)
  if (body['systemInstruction'] !== undefined) push(body['systemInstruction'])
  for (const message of listOf(body['messages'] ?? body['contents'])) {
    const { role, content, parts = content, ...rest } = message as Members
    if (Object.keys(rest).length > 0) push({ role, ...rest })
    for (const part of typeof parts === 'string' ? [{ type: 'text', text: parts }] : listOf(parts)) {
      push({ role, ...(part as object) })
    }
  }
  return pieces
}

/** A piece without its final quotation mark and braces. */
function openEnd(piece: Piece | undefined): Piece[] {
  return piece ? [{ ...piece, text: piece.text.replace(/"[}\]]*$/, '') }] : []
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Texts that do not trigger special behavior of the fake provider. */
const words = fc.string({ maxLength: 30 }).map((text) => `So: ${text}`)
const round = fc.record({
  said: fc.oneof(fc.constant(null), words),
  // A provider looks back 20 blocks, which an answer with many calls exceeds.
  results: fc.oneof(
    fc.array(words, { minLength: 1, maxLength: 4 }),
    fc.array(words, { minLength: 21, maxLength: 30 }),
  ),
})
const conversation = fc.record({
  system: words,
  question: words,
  rounds: fc.array(round, { minLength: 1, maxLength: 4 }),
  notices: fc.array(words, { maxLength: 2 }),
})
type Conversation = typeof conversation extends fc.Arbitrary<infer Value> ? Value : never

function messagesOf({ system, question, rounds }: Conversation, count: number): object[] {
  return [
    { role: 'system', content: system },
    { role: 'user', content: question },
    ...rounds.slice(0, count).flatMap(({ said, results }, at) => [
      {
        role: 'assistant',
        content: said,
        tool_calls: results.map((_, index) => ({
          id: `call_${at}_${index}`,
          type: 'function',
          function: { name: 'look', arguments: `{"at":${index}}` },
        })),
      },
      ...results.map((content, index) => ({ role: 'tool', tool_call_id: `call_${at}_${index}`, content })),
    ]),
  ]
}

const tools = ['read', 'look'].map((name) => ({
  type: 'function',
  function: {
    name,
    // The description is long enough that each model caches the prompt.
    description: `${name} ${'word '.repeat(1000)}`,
    parameters: { type: 'object', properties: { at: { type: 'number' } } },
  },
}))

async function sent(
  gateway: LlmGatewayUnderTest,
  call: { readonly model: string; readonly messages: readonly object[]; readonly purpose?: string },
  token = doorTokenOfScout,
): Promise<Members> {
  const { model, messages, purpose } = call
  const reply = await fetch(`${gateway.rootUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      [headers.runId]: 'run_0000000000000001',
      [headers.runFence]: '1',
      ...(purpose === undefined ? {} : { [headers.callPurpose]: purpose }),
    },
    // A question beside the conversation has no tools.
    body: JSON.stringify({
      model,
      messages,
      ...(purpose === 'aside' ? {} : { tools }),
      max_tokens: 100,
      stream: true,
    }),
  })
  expect(await reply.text()).not.toContain('"error"')
  return gateway.upstream.calls.at(-1)?.body ?? {}
}

describe.each([...byMarks, ...byPrefix])('two rounds of one conversation at $model', ({ wire, model }) => {
  let gateway: LlmGatewayUnderTest
  beforeAll(async () => {
    gateway = await startLlmGateway(wire, model)
  })
  afterAll(() => gateway.close())
  const isMarking = byMarks.some((one) => one.model === model)

  test(
    'two rounds of one conversation share every byte up to the new messages, and find what the earlier one stored',
    { timeout: 30_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(conversation, async (asked) => {
          const count = asked.rounds.length
          const notices = asked.notices.map((content) => ({ role: 'system', content }))
          const bare = piecesOf(await sent(gateway, { model, messages: messagesOf(asked, count - 1) }))
          const before = piecesOf(
            await sent(gateway, { model, messages: [...messagesOf(asked, count - 1), ...notices] }),
          )
          const after = piecesOf(await sent(gateway, { model, messages: messagesOf(asked, count) }))
          // Servers without marks cache by bytes: a notice may continue the last text.
          const bytes = (pieces: readonly Piece[]) => pieces.map(({ text }) => text).join('\n')
          const shared = bytes(isMarking ? bare : bare.slice(0, -1).concat(openEnd(bare.at(-1))))
          expect(bytes(before).slice(0, shared.length)).toBe(shared)
          expect(bytes(after).slice(0, shared.length)).toBe(shared)
          const marks = [before, after].map((pieces) =>
            pieces.flatMap(({ isMarked }, at) => (isMarked ? [at] : [])),
          )
          if (!isMarking) {
            expect(marks).toEqual([[], []])
            return
          }
          expect(marks[0]?.at(-1)).toBe(bare.length - 1)
          expect(marks[1]).toContain(bare.length - 1)
          expect(marks[1]?.at(-1)).toBe(after.length - 1)
          for (const one of marks) expect(one.length).toBeLessThanOrEqual(4)
        }),
        { numRuns: 10 },
      )
    },
  )
})

describe('the marks of a call', () => {
  const model = 'anthropic/claude-haiku-4-5'
  const messages = messagesOf({ system: 'Be brief.', question: 'hi', rounds: [], notices: [] }, 0)
  const marksOf = (body: Members) => piecesOf(body).flatMap(({ isMarked }, at) => (isMarked ? [at] : []))

  test('the marks of a call are on the last tool, the system prompt and the end of the conversation', async () => {
    const gateway = await startLlmGateway('anthropic', model)
    expect(marksOf(await sent(gateway, { model, messages }))).toEqual([1, 2, 3])
    await gateway.close()
  })

  test('the marks of a call are left out beside the conversation, and from calls of programs, which write their own', async () => {
    const gateway = await startLlmGateway('anthropic', model)
    // It is long enough that a part of the conversation would be marked.
    const long = [{ role: 'user', content: 'word '.repeat(4000) }]
    expect(marksOf(await sent(gateway, { model, messages: long, purpose: 'aside' }))).toEqual([])
    expect(marksOf(await sent(gateway, { model, messages }, 'scout'))).toEqual([])
    await gateway.close()
  })
})
