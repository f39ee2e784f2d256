import fc from 'fast-check'
import { joinThoughts } from '@flotilla/protocol/thoughts'
import { createServerSentEventParser } from '@flotilla/protocol/server-sent-events'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { createAnswerAssembly } from '../../packages/agent/src/llm/assemble-answer.ts'
import { createNormalWriter } from '../../packages/inference/src/models/formats/answer/normal-reply.ts'
import { oddities } from './oddities.ts'
import { whole } from './oddity.ts'

function readIn(pieces: readonly Uint8Array[], stream: boolean): string {
  let made = 0
  let text = ''
  const options = {
    stream,
    model: 'm',
    from: 'lab',
    secrets: [],
    newId: () => `call_${made++}`,
    createdSeconds: 1,
  }
  const writer = createNormalWriter(options, (piece) => (text += piece))
  try {
    for (const piece of pieces) writer.take(piece)
    writer.end()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return `${text}${error.code}: ${error.detail}`
  }
  return text
}

function cut(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set([0, ...cuts.map((at) => at % (bytes.length + 1)), bytes.length])]
  const sorted = places.toSorted((a, b) => a - b)
  return sorted.slice(1).map((at, index) => bytes.subarray(sorted[index], at))
}

interface Whole {
  readonly choices: readonly [
    {
      readonly finish_reason: string
      readonly message: {
        readonly content: string | null
        readonly reasoning_details?: readonly { readonly text?: string }[]
        readonly tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[]
      }
    },
  ]
  readonly usage?: unknown
}

/** The part of a whole answer that is compared. */
function shownOf(text: string): object {
  const answer = JSON.parse(text) as Whole
  const [{ message, finish_reason: end }] = answer.choices
  const ids = (message.tool_calls ?? []).map((one) => one.id)
  return {
    text: message.content ?? '',
    thought: (message.reasoning_details ?? []).map((detail) => detail.text ?? '').join(''),
    calls: (message.tool_calls ?? []).map((one) => [one.function.name, one.function.arguments]),
    end,
    hasUsage: answer.usage !== undefined,
    idsAreUnique: new Set(ids).size === ids.length,
  }
}

/** What the loop of an agent makes of an answer in the normal form: the events of a stream, or one text. */
function assembled(text: string): object | string {
  const end = text.slice(text.lastIndexOf('\n\ndata: ') + 1).replace(/^\ndata: .*\n\n/, '')
  if (/^[a-z-]+: /.test(end) && !end.startsWith('data: ')) return end
  const assembly = createAnswerAssembly()
  const events = createServerSentEventParser(16 * 1024 * 1024)
  const texts = text.startsWith('{') ? [text] : events.push(text).map(({ data }) => data)
  for (const data of texts) if (data !== '[DONE]') assembly.take(JSON.parse(data))
  const answer = assembly.answer()
  return {
    ...answer,
    thoughts: joinThoughts((answer.thoughts ?? []).map((thought) => ({ ...thought, from: 'lab' }))),
    toolCalls: answer.toolCalls.map(({ name, arguments: written }) => [name, written]),
    isWhole: assembly.isWhole(),
  }
}

/** Oddities without a content encoding, which is read together with the reply's headers. */
const bare = oddities.filter(({ contentEncoding }) => contentEncoding === undefined)

describe('an odd answer in the normal form', () => {
  test('an odd answer in the normal form has at least sixty examples, each from a public source', () => {
    expect(oddities.length).toBeGreaterThanOrEqual(60)
    expect(new Set(oddities.map(({ what }) => what)).size).toBe(oddities.length)
    for (const { source } of oddities) expect(source.length).toBeGreaterThan(10)
  })

  test.each(bare)('an odd answer in the normal form where $what', (oddity) => {
    const read = readIn([Buffer.from(oddity.wire)], false)
    const { normal } = oddity
    if ('problem' in normal) {
      expect(read).toMatch(new RegExp(`^${normal.problem}: `))
      expect(read).toContain(normal.says ?? '')
      return
    }
    const { usage, ...said } = normal
    const nothing = { text: '', thought: '', calls: [], end: 'stop' }
    expect(shownOf(read)).toEqual({ ...nothing, ...said, hasUsage: usage !== undefined, idsAreUnique: true })
  })

  test('an odd answer in the normal form may be empty if a filter explains that, also beside unknown members', () => {
    const wire = whole({ content: null, moderation: { hate: 'high' } }, 'content_filter')
    expect(shownOf(readIn([Buffer.from(wire)], false))).toMatchObject({ text: '', end: 'content_filter' })
  })

  test.each(bare)(
    'an odd answer in the normal form is the same however the bytes are cut, where $what',
    ({ wire }) => {
      const bytes = Buffer.from(wire)
      const wholes = { true: readIn([bytes], true), false: readIn([bytes], false) }
      fc.assert(
        fc.property(fc.array(fc.nat(), { maxLength: 30 }), fc.boolean(), (cuts, stream) => {
          expect(readIn(cut(bytes, cuts), stream)).toBe(wholes[`${stream}`])
        }),
        { numRuns: 20 },
      )
    },
  )

  test.each(bare)(
    'an odd answer in the normal form means the same to an agent as a stream and as a whole answer, where $what',
    ({ wire }) => {
      const bytes = [Buffer.from(wire)]
      expect(assembled(readIn(bytes, true))).toEqual(assembled(readIn(bytes, false)))
    },
  )

  test('an odd answer in the normal form is never an empty one, and never anything but a problem, whatever the bytes', () => {
    const pieces = fc.constantFrom(
      'data: ',
      '{"choices":[',
      '{"delta":{',
      '"content":',
      '"x"',
      '7',
      'null',
      '}',
      ']',
      '\n\n',
      '[DONE]',
      '"tool_calls":',
      '"finish_reason":"stop"',
      ',',
      '<think>',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
        expect(readIn([Buffer.from(parts.join(''))], false)).not.toBe('')
      }),
      { numRuns: 2000 },
    )
  })
})
