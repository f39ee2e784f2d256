import { loopCpuMs } from '../../../../foundation/src/platform/system-clock.ts'
import { readPlain } from './read-markdown.ts'
import { wholePartAt } from './whole-part.ts'
import process from 'node:process'
import { channelNames } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import * as fc from 'fast-check'
import MarkdownIt from 'markdown-it'
import { describe, expect, test } from 'vitest'
import { readSpelled } from '../../../../testing/src/read-spelled-text.ts'
import { channelCharsMax, createSplitText } from './split-text.ts'

const splitText = createSplitText()
const pieces = (channel: ChannelName, text: string, lead = ''): readonly string[] =>
  splitText({ channel, text, format: 'markdown', lead }).pieces
const everyChannel = channelNames.map((channel) => [channel] as const)
const soak = process.env['FLOTILLA_SOAK'] === '1'

/** The text without zero-width characters against mentions and markup. */
const plain = (piece: string) => piece.replaceAll(/[\u200B\u2060]/g, '').replaceAll('&amp;', '&')

/** The code blocks of a part that are closed by their own fences, with their languages. */
function closedBlocks(piece: string): readonly string[] {
  const lines = piece.split('\n').length
  return new MarkdownIt()
    .parse(piece, {})
    .filter(({ type }) => type === 'fence')
    .map(({ info, map, content }) => {
      const isClosed = (map?.[1] ?? 0) - (map?.[0] ?? 0) === content.split('\n').length - 1 + 2
      expect(isClosed && (map?.[1] ?? 0) <= lines, piece.slice(-40)).toBe(true)
      return info
    })
}

describe.each(everyChannel)('parts that belong together, on %s', (channel) => {
  const max = channelCharsMax[channel]
  const addressOf = (length: number) => `https://example.com/${'a1'.repeat(length)}`.slice(0, length)
  const before = (length: number) => 'w '.repeat(length).slice(0, length)

  test.each([0.02, 0.1, 0.3, 0.35, 0.6, 0.9])(
    'a long address is not divided although a large text precedes it: %d',
    (share) => {
      for (const length of [900, Math.floor(Math.min(max, 7000) / 2), Math.min(max - 200, 7000)]) {
        const address = addressOf(length)
        const texts = [
          address,
          `(${address})`,
          `<${address}>`,
          `[words](${address})`,
          `[${address}](${address})`,
        ]
        for (const text of texts) {
          const made = pieces(channel, `${before(Math.floor(max * share))} ${text} and more`, '[coder]')
          const whole = made.filter((piece) => plain(piece).includes(address))
          expect(whole.length, `${length} ${text.slice(0, 20)}`).toBeGreaterThan(0)
          // No part of it is in another message.
          const others = made.filter((piece) => !whole.includes(piece))
          expect(others.filter((piece) => plain(piece).includes('a1a1'))).toEqual([])
        }
      }
    },
  )

  test.each(['https://example.com/путь/', 'https://пример.example/a/', 'https://example.com/日本語/'])(
    'an address with letters of another script is not divided, also without a blank before it: %s',
    (start) => {
      const address = start + start.slice(-4).repeat(20)
      for (let before = max - address.length - 40; before < max; before += 7) {
        const made = pieces(channel, `${'漢字'.repeat(before / 2)}：${address} and more`)
        const read = made.map((piece) => plain(readSpelled[channel](piece)))
        expect(read.filter((piece) => piece.includes(address))).toHaveLength(1)
      }
    },
  )

  test('inline code and emphasized text are not divided if they fit into a message', () => {
    const code = 'let x = 1; '.repeat(60).trim()
    for (const text of [`\`${code}\``, `**${before(200).trim()}**`]) {
      const inner = text.replaceAll(/^[`*]+|[`*]+$/g, '')
      for (const share of [0.1, 0.7, 0.95]) {
        const made = pieces(channel, `${'v '.repeat(Math.floor((max * share) / 2))} ${text} and more`)
        const read = made.map((piece) => readSpelled[channel](piece).replaceAll(/[\u200B\u2060]/g, ''))
        expect(read.filter((piece) => piece.includes(inner))).toHaveLength(1)
      }
    }
  })

  test('an address that is longer than a message is cut', () => {
    const made = pieces(channel, `see ${addressOf(3 * max)} now`)
    expect(made.length).toBeGreaterThanOrEqual(3)
    expect(
      made
        .map((piece) => plain(piece))
        .join('')
        .replaceAll(/\s/g, ''),
    ).toContain('a1a1a1')
  })

  test('addresses of any length and position are not divided, and every part is within its limit', () => {
    const word = fc.constantFrom('word', 'naïve', '漢字', '👩‍👩‍👧‍👦', 'a_b', '@here', 'x '.repeat(300))
    const address = fc
      .tuple(fc.integer({ min: 20, max: Math.min(max - 300, 2500) }), fc.constantFrom('', '[words]', '<'))
      .map(([length, form]) => ({ form, address: addressOf(length) }))
    const part = fc.oneof(
      { weight: 3, arbitrary: word.map((text) => ({ form: 'text', address: text })) },
      { weight: 2, arbitrary: address },
    )
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 14 }), (parts) => {
        const spelled = parts.map(({ form, address: text }) =>
          form === '[words]' ? `[words](${text})` : form === '<' ? `<${text}>` : text,
        )
        const made = pieces(channel, spelled.join(' '), '[coder]')
        for (const piece of made) {
          const size = channel === 'telegram' ? readSpelled.telegram(piece).length : piece.length
          expect(size).toBeLessThanOrEqual(max)
          expect(piece.isWellFormed()).toBe(true)
        }
        const addresses = parts.filter(({ form }) => form !== 'text').map(({ address: text }) => text)
        for (const text of addresses)
          expect(
            made.some((piece) => plain(piece).includes(text)),
            `${text.length}`,
          ).toBe(true)
      }),
      { numRuns: soak ? 500 : 30 },
    )
  })
})

describe('fences of code blocks', () => {
  const code = (lines: number) =>
    Array.from({ length: lines }, (_one, line) => `const x${line} = \`\${y}\``).join('\n')

  test.each([
    ['fences of three backticks', '```ts', '```'],
    ['fences of tildes', '~~~ts', '~~~'],
    ['fences of five backticks', '`````ts', '`````'],
    ['unclosed fences', '```ts', ''],
  ])('%s are closed in each part and reopened with their language', (_name, open, close) => {
    const text = `before\n\n${open}\n${code(2000)}\n${close}\n\nafter`
    const webhook = pieces('webhook', text, '[coder]')
    expect(webhook.length).toBeGreaterThan(1)
    for (const piece of webhook) expect(closedBlocks(piece)).toEqual(['ts'])
    for (const piece of pieces('discord', text)) {
      expect(piece.split('```')).toHaveLength(3)
      expect(piece).toContain('```ts\n')
    }
    for (const channel of ['slack', 'whatsapp'] as const)
      for (const piece of pieces(channel, text)) expect(piece.split('```')).toHaveLength(3)
    for (const piece of pieces('telegram', text)) {
      expect(piece).toContain('<pre><code class="language-ts">')
      expect(piece).toContain('</code></pre>')
    }
  })

  test.each([
    ['```ts\nlet x', ['ts']],
    ['~~~~ts\n```\nlet x', ['ts']],
    ['words\n\n```ts\nlet x\n```\nand', ['ts']],
    ['- a\n\n  ```ts\n  let x', ['ts']],
    ['> ```ts\n> let x', ['ts']],
  ])('a fence in a short text is closed on the webhook channel too: %j', (text, languages) => {
    const [piece = '', ...rest] = pieces('webhook', text)
    expect(rest).toEqual([])
    // The end of a list or quote closes the block in it.
    if (/^[`~]/.test(text)) expect(closedBlocks(piece)).toEqual(languages)
    const after = new MarkdownIt().parse(`${piece}\n\nafter`, {})
    expect(after.filter(({ type }) => type === 'fence').map(({ info }) => info)).toEqual(languages)
    expect(after.at(-2)).toMatchObject({ type: 'inline', content: expect.stringMatching(/after$/) })
  })

  test.each(everyChannel)('a cut code block does not contain the cut mark, on %s', (channel) => {
    const { pieces: made, wasCut } = splitText({
      channel,
      text: `\`\`\`ts\n${code(5000)}`,
      format: 'markdown',
      lead: '',
    })
    expect(wasCut).toBe(true)
    expect(made.at(-1)).toMatch(/(?:```|<\/code><\/pre>)\n+\\?\[cut\\?\]$/)
  })
})

test('an address is found in linear time, even if one long word could be its scheme', () => {
  const costMs = (word: string) => {
    const text = readPlain(word.repeat(16_000))
    const before = loopCpuMs()
    for (let times = 0; times < 5; times++) expect(wholePartAt(text, 8000)).toBeNull()
    return loopCpuMs() - before
  }
  costMs('_')
  // A scheme was parsed to the end of the word from each letter on.
  expect(costMs('a') / Math.max(costMs('_'), 2)).toBeLessThan(25)
})
